package npm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/featurize/lexical"
	"pipe/internal/storage"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/pipeline/convert"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/features"
)

const (
	rows = 200
	many = 1500 // more than the graph sees at once
	dim  = 5
)

// testCase is a policy, a request to the package, and what pipe decide says to the same.
type testCase struct {
	Name    string         `json:"name"`
	Policy  string         `json:"policy"`
	Request map[string]any `json:"request"`

	names     *costs.Actions
	want      []decided
	unchecked []string
}

// decided is a line of pipe decide.
type decided struct {
	Expert   string    `json:"expert"`
	Advice   string    `json:"advice"`
	Index    int       `json:"action"`
	Loss     *float32  `json:"expected_loss"`
	Cost     *float32  `json:"expected_cost"`
	Accepted *bool     `json:"accepted"`
	Scores   []float32 `json:"scores"`
}

// cases are all kinds of policies on drawn rows, at drawn prices and with pairs left out.
func cases(t *testing.T, rt *ort.Runtime) []testCase {
	folder := t.TempDir()
	var all []testCase
	add := func(name string, p *policy.Policy, change policy.PriceChange) {
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, featureCase(t, rt, folder, fmt.Sprintf("%s %d", name, len(all)), m, p.Actions, change, rows))
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		add("network", network1(r), policy.PriceChange{})
		add("network without a pair", network1(r), policy.PriceChange{Without: []policy.Part{policy.Pair("a/b/short")}})
		add("any price", anyPrice(r, nil), policy.PriceChange{})
		for range 3 {
			p := anyPrice(r, nil)
			add("any price, changed", p, change(r, p))
		}
		p := anyPrice(r, []costs.Quantity{costs.TokensIn, costs.TokensCached, costs.TokensOut, costs.Calls, costs.Seconds})
		add("usage", p, policy.PriceChange{})
		add("usage, changed", p, change(r, p))
		double := p.Estimate.Usage.Prices.Times(2, -1)
		add("usage, all doubled", p, policy.PriceChange{UsageOf: listed(p, double)})
	}
	fixed := policy.NewFixed(actions(), []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, dim)
	fixed.Method = "auto"
	add("fixed", fixed, policy.PriceChange{Without: []policy.Part{policy.Expert("a/b")}})
	free := anyPrice(rand.New(rand.NewPCG(7, 7)), nil)
	guarded := decidetest.Guarded(t, free, nil)
	half := 0.5
	all = append(all,
		featureCase(t, rt, folder, "guarantee", guarded, free.Actions, policy.PriceChange{}, many),
		featureCase(t, rt, folder, "guarantee at another lambda", guarded, free.Actions, policy.PriceChange{Lambda: &half}, rows),
		featureCase(t, rt, folder, "guarantee without pairs", decidetest.Guarded(t, free.At(1), nil), free.Actions, policy.PriceChange{Without: []policy.Part{policy.Expert("__proto__")}}, rows))
	return append(all, textCases(t, rt, folder)...)
}

// actions have names that are hard for JavaScript and for pairs.
func actions() *costs.Actions {
	return &costs.Actions{
		Experts:     []costs.Expert{{Name: "a/b", Fee: 0.1}, {Name: `"quoted"`, Fee: 0.05}, {Name: "__proto__"}},
		Advice:      []costs.Advice{{Name: "none"}, {Name: "short", Fee: 0.1}, {Name: "größer", Fee: 0.2}},
		Unavailable: []costs.Pair{{Expert: 1, Advice: 2}},
		Features:    costs.FeatureSource{Name: "drawn", Dim: dim},
	}
}

func affine(r *rand.Rand, out, in int) network.Affine {
	a := network.Affine{Out: out, In: in, W: make([]float32, out*in), B: make([]float32, out)}
	for i := range a.W {
		a.W[i] = float32(r.NormFloat64()) / 3
	}
	for i := range a.B {
		a.B[i] = 0.5 + float32(r.NormFloat64())/10
	}
	return a
}

func network1(r *rand.Rand) *policy.Policy {
	return &policy.Policy{
		Actions: actions(), Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{affine(r, 8, dim), affine(r, 9, 8)}}, {Layers: []network.Affine{affine(r, 9, dim)}}},
		Info:    map[string]string{policy.NamesKey: `["v","w","x","y","z"]`},
	}
}

func anyPrice(r *rand.Rand, used []costs.Quantity) *policy.Policy {
	a, prices := actions(), policy.DefaultPriceRange()
	p := &policy.Policy{
		Actions: a, Method: "auto", Recipe: "auto", Lambda: 1, Tau: 1, Decoder: policy.DecoderEstimate, Dim: dim,
		Estimate: &policy.Estimate{
			Blend:    estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: affine(r, a.Len(), dim)}}}},
			Constant: make([]float64, a.Len()), Margin: 0.01, Prices: &prices,
		},
	}
	for i := range p.Estimate.Constant {
		p.Estimate.Constant[i] = 0.5 + r.Float64()/10
	}
	if used == nil {
		return p
	}
	u := &policy.Usage{Quantities: used, Mean: make([]float64, len(used)*a.Len())}
	for i := range u.Mean {
		u.Mean[i] = 1000 * r.Float64()
	}
	u.Estimate = estimate.NewConstant(u.Mean, dim)
	for _, q := range used {
		for range a.Experts {
			u.Prices[q] = append(u.Prices[q], float64(float32(r.Float64()/1000)))
		}
	}
	p.Estimate.Usage = u
	return p
}

// change draws prices, and sometimes what is left out.
func change(r *rand.Rand, p *policy.Policy) (c policy.PriceChange) {
	if r.IntN(2) == 0 {
		lambda := []float64{0, 0.5, 3, 20}[r.IntN(4)]
		c.Lambda = &lambda
	}
	for _, of := range []policy.Part{policy.Expert("a/b"), policy.Expert("__proto__"), policy.Advice("short"), policy.Pair("a/b/short")} {
		if r.IntN(3) == 0 {
			c.Fees = append(c.Fees, policy.Fee{Of: of, Amount: float64(r.IntN(100)) / 100})
		}
	}
	if u := p.Estimate.Usage; u != nil {
		c.UsageOf = listed(p, u.Prices.Times(r.Float64()*3, r.IntN(3)))
	}
	if r.IntN(2) == 0 {
		all := []policy.Part{policy.Expert(`"quoted"`), policy.Advice("größer"), policy.Pair("__proto__/none")}
		c.Without = all[:1+r.IntN(3)]
	}
	return c
}

func listed(p *policy.Policy, u policy.UsagePrices) (list []policy.UsagePrice) {
	for q, of := range u {
		for j, price := range of {
			list = append(list, policy.UsagePrice{Expert: p.Actions.Experts[j].Name, Quantity: costs.Quantity(q).String(), Price: price})
		}
	}
	return list
}

// featureCase asks both for drawn rows. The package gets lists of numbers, or objects if the policy has names of features.
func featureCase(t *testing.T, rt *ort.Runtime, folder, name string, m *onnx.Model, a *costs.Actions, c policy.PriceChange, rows int) testCase {
	t.Helper()
	r, request := rand.New(rand.NewPCG(uint64(len(name)), 2)), requested(c)
	path := filepath.Join(folder, name+".onnx")
	if _, err := decide.WritePolicy(t.Context(), storage.File(path), m); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	var lists, objects []any
	for n := range rows {
		x, object := make([]float32, dim), map[string]float32{}
		for i := range x {
			x[i] = float32(r.NormFloat64())
			object[string("vwxyz"[i])] = x[i]
		}
		b, err := json.Marshal(map[string]any{"id": fmt.Sprint(n), "features": x})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(b, '\n'))
		lists, objects = append(lists, x), append(objects, object)
	}
	if request["features"] = lists; m.Metadata()["pipe.feature_names"] != "" {
		request["features"] = objects
	}
	o := decide.DefaultStreamOptions()
	o.Policy, o.Prices = storage.File(path), c
	out, done := answered(t, rt, o, lines.Bytes())
	made := testCase{Name: name, Policy: path, Request: request, names: a, want: out}
	if done.Prices != nil {
		made.unchecked = done.Prices.Unchecked
	}
	return made
}

// requested is a change of prices as the package takes it.
func requested(c policy.PriceChange) map[string]any {
	prices, request := map[string]any{}, map[string]any{"top": 3}
	put := func(in map[string]any, list, name string, value any) {
		if in[list] == nil {
			in[list] = map[string]any{}
		}
		in[list].(map[string]any)[name] = value
	}
	lists := map[string]string{"expert": "experts", "advice": "advice", "pair": "pairs"}
	if c.Lambda != nil {
		prices["lambda"] = *c.Lambda
	}
	for _, f := range c.Fees {
		put(prices, lists[f.Of.Kind], f.Of.Name, f.Amount)
	}
	for _, u := range c.UsageOf {
		usage, _ := prices["usage"].(map[string]any)
		of, ok := usage[u.Expert].(map[string]any)
		if !ok {
			of = map[string]any{}
			put(prices, "usage", u.Expert, of)
		}
		of[u.Quantity] = u.Price
	}
	if len(prices) > 0 {
		request["prices"] = prices
	}
	out := map[string][]string{}
	for _, w := range c.Without {
		out[lists[w.Kind]] = append(out[lists[w.Kind]], w.Name)
	}
	if len(out) > 0 {
		request["unavailable"] = out
	}
	return request
}

// answered is what pipe decide writes.
func answered(t *testing.T, rt *ort.Runtime, o decide.StreamOptions, in []byte) (out []decided, done *decide.Summary) {
	t.Helper()
	var written bytes.Buffer
	o.InFormat, o.OutFormat, o.Scores = "jsonl", "jsonl", true
	done, err := decide.Stream(t.Context(), rt, o, bytes.NewReader(in), &written, nil)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(&written); lines.Scan(); {
		var d decided
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out, done
}

// textCases are policies behind a network that reads letters, and behind an encoder that was fitted to texts of many scripts.
func textCases(t *testing.T, rt *ort.Runtime, folder string) []testCase {
	texts := append(drawnTexts(rows), "", " ", "a", "é", "e\u0301", "ﬁ", "<s> [CLS] [SEP]", string(bytes.Repeat([]byte("hidden facts "), 40)))
	source := filepath.Join(folder, "texts.jsonl")
	save(t, source, string(textLines(t, texts)))
	fitted := filepath.Join(folder, "fitted.onnx")
	o := features.DefaultTextOptions()
	o.In, o.Column, o.Out = storage.File(source), "text", storage.File(fitted)
	o.Lexical = lexical.Options{Dim: hftest.Hidden, MinTexts: 1, MaxWords: 300, MaxGrams: 300, MaxPieces: 300, MinGram: 2, MaxGram: 4, MaxLength: 48}
	if _, err := features.RunTexts(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	var all []testCase
	for name, encoder := range map[string]string{"letters": hftest.Folder(t), "fitted": fitted} {
		c := convert.DefaultOptions()
		reader := decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, costs.FeatureSource{Dim: hftest.Hidden}, "")
		path := filepath.Join(folder, name+" merged.onnx")
		c.Model, c.Merge, c.Out = encoder, storage.File(reader), storage.File(path)
		if _, err := convert.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		f, err := decide.ReadPolicy(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		d := decide.DefaultStreamOptions()
		d.Policy, d.Text = storage.File(path), "text"
		out, _ := answered(t, rt, d, textLines(t, texts))
		all = append(all, testCase{Name: name, Policy: path, Request: map[string]any{"texts": texts, "top": 2}, names: f.Info.Actions, want: out})
	}
	return all
}

// drawnTexts have words of several scripts, marks that combine, and characters beyond 16 bits.
func drawnTexts(n int) []string {
	scripts := []string{"az", "AZ", "àÿ", "αω", "ая", "את", "اي", "कह", "ािੌ", "กฮ", "ぁん", "ァヴ", "一亿", "가갛", "ａｚ", "😀🙏", "𝐀𝐙", "٠٩", "!/", "ßſ"}
	r, texts := rand.New(rand.NewPCG(3, 1)), make([]string, n)
	for i := range texts {
		for range 1 + r.IntN(9) {
			ends := []rune(scripts[r.IntN(len(scripts))*r.IntN(2)])
			for range 1 + r.IntN(6) {
				low, high := slices.Min(ends), slices.Max(ends)
				texts[i] += string(low + rune(r.IntN(int(high-low)+1)))
			}
			texts[i] += []string{" ", " ", " ", "  ", "\t", ", ", "\u00a0"}[r.IntN(7)]
		}
	}
	return texts
}

func textLines(t *testing.T, texts []string) []byte {
	var b bytes.Buffer
	for _, text := range texts {
		line, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// listCases writes the cases for the programs of testdata.
func listCases(t *testing.T, folder string, all []testCase) string {
	t.Helper()
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "cases.json")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
