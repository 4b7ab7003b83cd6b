package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
)

// tokenPolicy writes an any-price policy whose experts use 1000, 2000 and 3000 tokens of answers plus 500 times the first feature,
// and returns its file. A loss of 1 is worth 2 USD.
func tokenPolicy(t *testing.T, name string) string { return tokenPolicyOf(t, name, "first") }

// tokenPolicyOf is tokenPolicy where the first expert is a model of another name.
func tokenPolicyOf(t *testing.T, name, model string) string {
	t.Helper()
	p := decidetest.AnyPrice(4)
	pairs := p.Actions.Len()
	a := network.Affine{Out: pairs, In: 4, W: make([]float32, 4*pairs), B: make([]float32, pairs)}
	u := &policy.Usage{Quantities: []costs.Quantity{costs.TokensOut}, Mean: make([]float64, pairs)}
	for i := range pairs {
		j, _ := p.Actions.Pair(i)
		a.B[i], a.W[4*i], u.Mean[i] = float32(1000*(j+1)), 500, float64(1000*(j+1))
	}
	u.Estimate = estimate.Linear{Affine: a}
	u.Prices[costs.TokensOut] = []float64{10, 10, 10}
	p.Estimate.Usage = u
	p.Info = map[string]string{
		strings.TrimPrefix(costs.MoneyKey, "pipe."): `{"currency":"USD","per_loss":2}`,
		strings.TrimPrefix(costs.MeterKey, "pipe."): `{"currency":"USD","models":{"first":[{"in":0,"out":20}],"\"quoted\"":[{"in":0,"out":20}],"c":[{"in":0,"out":20}]},"experts":{"a, or b":"` + model + `"}}`,
	}
	from, to := decidetest.WritePolicy(t, p), filepath.Join(t.TempDir(), name+".onnx")
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// putPrices replaces a price file atomically.
func putPrices(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func pricesOut(out float64) string {
	text := "currency: USD\nmodels:\n"
	for _, model := range []string{"first", `'"quoted"'`, "c"} {
		text += fmt.Sprintf("  %s: [{in: 0, out: %g}]\n", model, out)
	}
	return text
}

type decidedPair struct {
	Pair         string   `json:"pair"`
	Fee          *float64 `json:"fee"`
	ExpectedLoss float64  `json:"expected_loss"`
	ExpectedCost float64  `json:"expected_cost"`
	TokensOut    *float64 `json:"expected_tokens_out"`
}

// ranked returns the pairs of a decision by name.
func (r *running) ranked(t *testing.T, body string) map[string]decidedPair {
	t.Helper()
	status, _, text := r.do(t, "POST", "/v1/decide", body, "Content-Type", "application/json")
	var answer struct {
		Decisions []struct {
			Ranked []decidedPair `json:"ranked"`
		} `json:"decisions"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
		t.Fatalf("%d: %s: %v", status, text, err)
	}
	out := map[string]decidedPair{}
	for _, p := range answer.Decisions[0].Ranked {
		out[p.Pair] = p
	}
	return out
}

// TestPricesWhileServing: decisions follow the price file without a restart, and a bad file keeps the prices before.
func TestPricesWhileServing(t *testing.T) {
	file, logged := filepath.Join(t.TempDir(), "prices.yaml"), filepath.Join(t.TempDir(), "log")
	putPrices(t, file, pricesOut(20))
	r := start(t, func(c *Config) {
		c.Policies.Paths, c.Policies.Prices, c.Policies.Settle = []string{tokenPolicy(t, "tokens"), aPolicy(t)}, file, 10*time.Millisecond
		c.Policies.Default, c.Log.Folder = "tokens", Path(logged)
	}, nil)
	const body = `{"features":[1,0,0,0]}`
	check := func(body string, out, fixed float64) (ok bool) {
		t.Helper()
		pairs := r.ranked(t, body)
		for name, tokens := range map[string]float64{"a, or b/none": 1500, "c/none": 3500} {
			p := pairs[name]
			if p.Fee == nil || p.TokensOut == nil || *p.TokensOut != tokens || math.Abs(p.ExpectedCost-p.ExpectedLoss-*p.Fee) > 1e-5 {
				t.Fatalf("%s: %+v", name, p)
			}
			if math.Abs(*p.Fee-fixed-out/2/1e6*tokens) > 1e-9 {
				return false
			}
		}
		return true
	}
	if !check(body, 20, 0.1) {
		t.Errorf("%v", r.ranked(t, body))
	}
	if _, ok := r.ranked(t, `{"features":[1,0,0,0],"policy":"policy"}`)["c/none"]; !ok {
		t.Error("the other policy does not decide")
	}
	putPrices(t, file, pricesOut(10))
	waitFor(t, func() bool { return check(body, 10, 0.1) })
	// Fees of a request come on top of the prices of the file.
	if !check(`{"features":[1,0,0,0],"prices":{"experts":{"a, or b":0.3,"c":0.3}}}`, 10, 0.3) {
		t.Error("a request's own fees do not go with the price file")
	}
	if !check(`{"features":[1,0,0,0],"prices":{"usage":{"a, or b":{"tokens_out":4},"c":{"tokens_out":4}}}}`, 8, 0.1) {
		t.Error("prices of usage of a request do not count")
	}
	for usage, want := range map[string]string{
		`{"d":{"tokens_out":4}}`: `unknown expert \"d\"`, `{"c":{"tokens_in":4}}`: "tokens_in", `{"c":{"tokens_out":-1}}`: "not from 0 to", `{"c":4}`: "is not an object of fees",
	} {
		if status, _, text := r.do(t, "POST", "/v1/decide", `{"features":[1,0,0,0],"prices":{"usage":`+usage+`}}`, "Content-Type", "application/json"); status != 422 && status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d: %s", usage, status, text)
		}
	}
	for what, bad := range map[string]string{
		"no YAML": "currency: [", "a model is missing": strings.Replace(pricesOut(1), "  c:", "  d:", 1), "currency": strings.Replace(pricesOut(1), "USD", "EUR", 1),
	} {
		putPrices(t, file, bad)
		waitFor(t, func() bool {
			_, _, text := r.do(t, "GET", "/v1/policies", "")
			return !strings.Contains(text, `"refused":""`)
		})
		if !check(body, 10, 0.1) {
			t.Errorf("%s: the prices changed", what)
		}
		putPrices(t, file, pricesOut(10))
		waitFor(t, func() bool {
			_, _, text := r.do(t, "GET", "/v1/policies", "")
			return strings.Contains(text, `"refused":""`)
		})
	}
	if _, _, text := r.do(t, "GET", "/metrics", ""); !strings.Contains(text, `pipe_price_file_loads_total{ok="false"} 3`) {
		t.Error("the metrics do not count the refused files")
	}
	if text := r.log.String(); !strings.Contains(text, `"msg":"prices"`) || !strings.Contains(text, `"verdict":"refused"`) {
		t.Errorf("log %s", text)
	}
	putPrices(t, file, pricesOut(40))
	status, _, text := r.do(t, "POST", "/v1/policies/reload", "")
	if status != 200 || !strings.Contains(text, `"kind":"prices"`) || !check(body, 40, 0.1) {
		t.Errorf("%d: %s", status, text)
	}
	// The inference protocol takes prices as tensors, and those of the file for the rest.
	_, _, text = r.do(t, "POST", "/v2/models/tokens/infer", `{"inputs":[{"name":"features","shape":[1,4],"datatype":"FP32","data":[1,0,0,0]}],"outputs":[{"name":"expected_cost"},{"name":"expected_loss"},{"name":"expected_tokens_out"}]}`, "Content-Type", "application/json")
	costAt := func(text string) float64 {
		var answer struct {
			Outputs []struct {
				Name string
				Data []float64
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Outputs) != 3 || answer.Outputs[2].Data[0] != 1500 {
			t.Fatalf("%s: %v", text, err)
		}
		return answer.Outputs[0].Data[0] - answer.Outputs[1].Data[0]
	}
	if fee := costAt(text); math.Abs(fee-0.1-20e-6*1500) > 1e-6 {
		t.Errorf("a fee of %g at the price file", fee)
	}
	_, _, text = r.do(t, "POST", "/v2/models/tokens/infer", `{"inputs":[{"name":"features","shape":[1,4],"datatype":"FP32","data":[1,0,0,0]},{"name":"price_out","shape":[1,3],"datatype":"FP32","data":[2,0,0]}],"outputs":[{"name":"expected_cost"},{"name":"expected_loss"},{"name":"expected_tokens_out"}]}`, "Content-Type", "application/json")
	if fee := costAt(text); math.Abs(fee-0.1-2e-6*1500) > 1e-6 {
		t.Errorf("a fee of %g at prices of the request", fee)
	}
	// The page values recent rows, of which all have the first feature 1, at the prices of the file.
	_, _, text = r.do(t, "GET", "/page/frontier?policy=tokens", "")
	var page struct {
		Frontier struct {
			Pairs []struct {
				Pair            string
				Fee, Loss, Cost float64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Frontier.Pairs) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	for _, p := range page.Frontier.Pairs {
		if p.Pair == "c/none" && math.Abs(p.Fee-0.1-20e-6*3500) > 1e-9 {
			t.Errorf("the page says %+v", p)
		}
	}
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	checkLoggedPrices(t, logged)
}

// checkLoggedPrices checks that records have prices of usage, and fees that follow from them.
func checkLoggedPrices(t *testing.T, folder string) {
	t.Helper()
	l, err := decisionlog.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]bool{}
	for d, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		if d.Policy != "tokens" {
			if d.UsagePrices != nil {
				t.Errorf("a policy without usage has prices %v", d.UsagePrices)
			}
			continue
		}
		price := d.UsagePrices[int(costs.TokensOut)*3]
		seen[price] = true
		if want := d.FixedFeeOf(0) + price*1500/1e6; math.Abs(d.FeeOf(0)-want) > 1e-6 {
			t.Errorf("prices %v: a fee of %g, want %g", d.UsagePrices, d.FeeOf(0), want)
		}
	}
	if !seen[10] || !seen[5] || !seen[20] || !seen[2] || !seen[4] {
		t.Errorf("prices %v", seen)
	}
}

// TestPricesAtTheStart: a price file that does not fit stops the start.
func TestPricesAtTheStart(t *testing.T) {
	tokens, plain, file := tokenPolicy(t, "tokens"), aPolicy(t), filepath.Join(t.TempDir(), "prices.yaml")
	for want, c := range map[string]struct{ path, prices string }{
		"no policy takes prices of tokens": {plain, pricesOut(1)},
		`expert "c" has no price`:          {tokens, strings.Replace(pricesOut(1), "  c:", "  d:", 1)},
		"are in EUR":                       {filepath.Dir(tokens), strings.Replace(pricesOut(1), "USD", "EUR", 1)},
		"models is empty":                  {tokens, "currency: USD\n"},
	} {
		putPrices(t, file, c.prices)
		config := DefaultConfig()
		config.Listen, config.Policies.Paths, config.Policies.Prices = "127.0.0.1:0", []string{c.path}, file
		options := Options{Runtime: orttest.OneThread(t)}
		s, err := New(t.Context(), config, options)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if report := Check(t.Context(), config, options); !strings.Contains(strings.Join(report.Problems, "\n"), want) {
			t.Errorf("%q: %q", want, report.Problems)
		}
	}
}

// outOf says what a million tokens of answers of the first expert cost, and whether the price file is refused.
func (r *running) outOf(t *testing.T) (price float64, refused bool) {
	_, _, text := r.do(t, "GET", "/v1/policies", "")
	p := r.ranked(t, `{"features":[0,0,0,0]}`)["a, or b/none"]
	return math.Round((*p.Fee - 0.1) * 2e3), !strings.Contains(text, `"refused":""`)
}

// TestRefusedPricesWhoseTimeComes: prices that were refused because those of a model begin later are in use when they begin.
func TestRefusedPricesWhoseTimeComes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	putPrices(t, file, pricesOut(20))
	r := start(t, func(c *Config) {
		c.Policies.Paths, c.Policies.Prices, c.Policies.Settle, c.Policies.Poll = []string{tokenPolicy(t, "tokens")}, file, time.Millisecond, 20*time.Millisecond
	}, nil)
	putPrices(t, file, strings.Replace(pricesOut(30), "c: [{", "c: [{from: "+time.Now().Add(2*time.Second).UTC().Format(time.RFC3339)+", ", 1))
	waitFor(t, func() bool { price, refused := r.outOf(t); return refused && price == 20 })
	waitFor(t, func() bool { price, refused := r.outOf(t); return !refused && price == 30 })
}

// TestPricesAndPolicyTogether: a policy and prices that fit each other alone are taken together, whichever comes first.
func TestPricesAndPolicyTogether(t *testing.T) {
	file, folder := filepath.Join(t.TempDir(), "prices.yaml"), t.TempDir()
	other := func(price float64, model string) string {
		return strings.Replace(pricesOut(price), "first", model, 1)
	}
	policy := func(model string) {
		if err := os.Rename(tokenPolicyOf(t, "tokens", model), filepath.Join(folder, "tokens.onnx")); err != nil {
			t.Fatal(err)
		}
	}
	policy("first")
	putPrices(t, file, pricesOut(20))
	r := start(t, func(c *Config) {
		c.Policies.Paths, c.Policies.Prices, c.Policies.Settle = []string{folder}, file, 5*time.Millisecond
	}, nil)
	done := make(chan struct{})
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					r.ranked(t, `{"features":[0,0,0,0]}`)
				}
			}
		})
	}
	defer callers.Wait()
	defer close(done)
	policy("second")
	waitFor(t, func() bool { return strings.Contains(r.log.String(), "second") })
	putPrices(t, file, other(30, "second"))
	waitFor(t, func() bool { price, refused := r.outOf(t); return !refused && price == 30 })
	putPrices(t, file, other(40, "third"))
	waitFor(t, func() bool { price, refused := r.outOf(t); return refused && price == 30 })
	policy("third")
	waitFor(t, func() bool { price, refused := r.outOf(t); return !refused && price == 40 })
	policy("fourth")
	putPrices(t, file, other(50, "fourth"))
	if status, _, text := r.do(t, "POST", "/v1/policies/reload", ""); status != 200 || strings.Contains(text, "refused") {
		t.Errorf("%d: %s", status, text)
	}
	if price, refused := r.outOf(t); refused || price != 50 {
		t.Errorf("a price of %g", price)
	}
}

// TestRefusedPricesOfAnEarlierFile: prices that were refused are forgotten when the file cannot be read, or is gone.
func TestRefusedPricesOfAnEarlierFile(t *testing.T) {
	for what, next := range map[string]func(file string) error{
		"no YAML": func(file string) error { putPrices(t, file, "currency: ["); return nil },
		"gone":    os.Remove,
	} {
		file, folder := filepath.Join(t.TempDir(), "prices.yaml"), t.TempDir()
		put := func(name, model string) {
			if err := os.Rename(tokenPolicyOf(t, name, model), filepath.Join(folder, name+".onnx")); err != nil {
				t.Fatal(err)
			}
		}
		put("tokens", "first")
		putPrices(t, file, pricesOut(20))
		r := start(t, func(c *Config) {
			c.Policies.Paths, c.Policies.Prices, c.Policies.Settle, c.Policies.Default = []string{folder}, file, 5*time.Millisecond, "tokens"
		}, nil)
		said := func(part string) {
			t.Helper()
			waitFor(t, func() bool {
				_, _, text := r.do(t, "GET", "/v1/policies", "")
				return strings.Contains(text, part)
			})
		}
		putPrices(t, file, strings.Replace(pricesOut(30), "first", "second", 1))
		said("has no price")
		if err := next(file); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool {
			_, _, text := r.do(t, "GET", "/v1/policies", "")
			return !strings.Contains(text, "has no price") && !strings.Contains(text, `"refused":""`)
		})
		put("tokens", "second") // alone it fits the refused prices only
		put("later", "first")
		said(`"name":"later"`)
		if price, refused := r.outOf(t); price != 20 || !refused {
			t.Errorf("%s: a price of %g, refused %v", what, price, refused)
		}
		if err := r.wait(t); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPricesChangeUnderLoad: every request has one set of prices, also a canary's and those of policies that are loaded later.
func TestPricesChangeUnderLoad(t *testing.T) {
	file, folder := filepath.Join(t.TempDir(), "prices.yaml"), t.TempDir()
	put := func(name string) {
		if err := os.Rename(tokenPolicy(t, name), filepath.Join(folder, name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	put("tokens")
	put("shadow")
	putPrices(t, file, pricesOut(20))
	r := start(t, func(c *Config) {
		c.Policies.Paths, c.Policies.Prices, c.Policies.Settle, c.Policies.Default = []string{folder}, file, time.Millisecond, "tokens"
		c.Decision.Shadow = []decision.Shadow{{Policy: "shadow"}}
		c.Log.Folder = Path(filepath.Join(t.TempDir(), "log"))
	}, nil)
	done := make(chan struct{})
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				pairs := r.ranked(t, `{"features":[0,0,0,0]}`)
				// Three experts use 1000, 2000 and 3000 tokens at one price, and an expert costs 0.1.
				first, third := *pairs["a, or b/none"].Fee-0.1, *pairs["c/none"].Fee-0.1
				if price := first * 2e3; math.Abs(third-3*first) > 1e-9 || math.Abs(price-20) > 1e-6 && math.Abs(price-10) > 1e-6 {
					t.Errorf("fees of usage %g and %g", first, third)
				}
			}
		})
	}
	for i := range 8 {
		putPrices(t, file, pricesOut([]float64{10, 20}[i%2]))
		r.do(t, "POST", "/v1/policies/reload", "")
	}
	close(done)
	callers.Wait()
	put("later")
	waitFor(t, func() bool {
		_, _, text := r.do(t, "GET", "/v1/policies", "")
		return strings.Contains(text, `"policies":["later","shadow","tokens"]`)
	})
	if fee := *r.ranked(t, `{"features":[0,0,0,0],"policy":"later"}`)["c/none"].Fee; math.Abs(fee-0.1-10e-6*3000) > 1e-9 {
		t.Errorf("a fee of %g of a policy that was loaded later", fee)
	}
}
