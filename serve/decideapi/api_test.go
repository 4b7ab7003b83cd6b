package decideapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

const dim = 6

// world is a running server with an any-price policy, "any", and one with fixed prices, "fixed".
type world struct {
	server *httptest.Server
	folder string // of the policies
	log    *decisionlog.Writer
	logged string // its folder
}

type options struct {
	decision decision.Settings
	log      decisionlog.Settings
	api      Settings
	policies map[string]*policy.Policy
	people   decision.People   // nil: no expert is people
	files    string            // a folder with more policies
	encoders map[string]string // of them
}

func defaults() options {
	return options{
		decision: decision.DefaultSettings(), log: decisionlog.DefaultSettings(), api: DefaultSettings(),
		policies: map[string]*policy.Policy{"any": decidetest.AnyPrice(dim), "fixed": decidetest.Policy(dim, 4)},
	}
}

func newWorld(t testing.TB, o options) *world {
	t.Helper()
	w := &world{folder: t.TempDir(), logged: filepath.Join(t.TempDir(), "log")}
	for name, p := range o.policies {
		if err := os.Rename(decidetest.WritePolicy(t, p), filepath.Join(w.folder, name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	about := policies.DefaultSettings()
	about.Paths, about.Default, about.Encoders = []string{w.folder}, "any", o.encoders
	if o.files != "" {
		about.Paths = append(about.Paths, o.files)
	}
	set, err := policies.Open(t.Context(), about, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.log, err = decisionlog.Open(w.logged, o.log); err != nil {
		t.Fatal(err)
	}
	d, err := decision.New(set, w.log, nil, nil, o.decision)
	if err != nil {
		t.Fatal(err)
	}
	if o.people != nil {
		d.UsePeople(o.people)
	}
	a, err := New(d, slog.New(slog.DiscardHandler), o.api)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	a.Register(mux)
	w.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.server.Close()
		if err := errors.Join(d.Close(), w.log.Close(), set.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// post sends a body and returns the status and the answer, which must be JSON.
func (w *world) post(t testing.TB, path, body string) (int, map[string]any) {
	t.Helper()
	resp, err := http.Post(w.server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func read(t testing.TB, resp *http.Response) (int, map[string]any) {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %s: %v", resp.Status, text, err)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is %s", got)
	}
	return resp.StatusCode, out
}

func numbers(seed uint64, n int) [][]float32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([][]float32, n)
	for i := range x {
		for range dim {
			x[i] = append(x[i], float32(r.NormFloat64()))
		}
	}
	return x
}

func inJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// answerJSON is what clients read of an answer.
type answerJSON struct {
	Request string `json:"request_id"`
	Policy  struct {
		Name, Digest string
		Canary       bool
	}
	Prices struct {
		Lambda    float64
		Unchecked []string
	}
	Guard     *struct{ Decided bool }
	Decisions []struct {
		pairOf
		ID       string
		Explored bool
		Ranked   []pairOf
	}
}

type pairOf struct {
	Index                int
	Pair, Expert, Advice string
	Propensity           float64
	Score                float32
	Loss                 *float32 `json:"expected_loss"`
	Fee                  float64
	Cost                 *float32 `json:"expected_cost"`
}

func (w *world) decide(t testing.TB, body string) answerJSON {
	t.Helper()
	code, got := w.post(t, "/v1/decide", body)
	if code != 200 {
		t.Fatalf("%d %v", code, got)
	}
	var out answerJSON
	if err := json.Unmarshal([]byte(inJSON(t, got)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSameAsRouter checks every number of answers against a router on the same file, which is what pipe decide runs.
func TestSameAsRouter(t *testing.T) {
	w, x, half := newWorld(t, defaults()), numbers(3, 50), 0.5
	for name, cases := range map[string]map[string]policy.PriceChange{
		"any": {
			`"policy": "any"`: {}, `"prices": {"lambda": 0.5}`: {Lambda: &half},
			`"prices": {"experts": {"c": 0.4}, "advice": {"short": 1e-3}}`:                                 {Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 0.4}, {Of: policy.Advice("short"), Amount: 1e-3}}},
			`"prices": {"pairs": {"c/none": 0.3, "a, or b/short": 0.02}}`:                                  {Fees: []policy.Fee{{Of: policy.Pair("c/none"), Amount: 0.3}, {Of: policy.Pair("a, or b/short"), Amount: 0.02}}},
			`"prices": {"lambda": 0.5}, "unavailable": {"pairs": ["\"quoted\"/none"], "advice": ["long"]}`: {Lambda: &half, Without: []policy.Part{policy.Pair(`"quoted"/none`), policy.Advice("long")}},
		},
		"fixed": {`"policy": "fixed"`: {}, `"policy": "fixed", "unavailable": {"experts": ["a, or b"]}`: {Without: []policy.Part{policy.Expert("a, or b")}}},
	} {
		for members, c := range cases {
			router, err := decide.Open(t.Context(), filepath.Join(w.folder, name+".onnx"), decide.Options{Prices: c})
			if err != nil {
				t.Fatal(err)
			}
			want, err := router.FeatureRows(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			got := w.decide(t, fmt.Sprintf(`{"features": %s, %s}`, inJSON(t, x), members))
			if got.Policy.Digest != router.Digest() || got.Policy.Name != name || got.Prices.Lambda != router.Prices().Lambda || len(got.Decisions) != 50 {
				t.Fatalf("%+v", got)
			}
			fees := router.Prices().Fees()
			for i, d := range got.Decisions {
				checkDecision(t, d.pairOf, want[i].Action, want[i], fees, 1)
				ranked := router.Ranked(want[i])
				if len(ranked) != len(d.Ranked) {
					t.Fatalf("row %d: %d ranked pairs, want %d", i, len(d.Ranked), len(ranked))
				}
				for n, pair := range ranked {
					propensity := 0.0
					if n == 0 {
						propensity = 1
					}
					checkDecision(t, d.Ranked[n], pair, want[i], fees, propensity)
				}
			}
			if err := router.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func checkDecision(t *testing.T, got pairOf, pair int, want decide.Decision, fees []float64, propensity float64) {
	t.Helper()
	levels := 3
	if got.Index != pair || got.Propensity != propensity || got.Score != want.Scores[pair] || got.Fee != fees[pair] || got.Pair != got.Expert+"/"+got.Advice {
		t.Fatalf("got %+v, want pair %d of %+v", got, pair, want)
	}
	if (got.Loss == nil) != (want.Loss == nil) || got.Loss != nil && (*got.Loss != want.Loss[pair] || *got.Cost != want.Cost[pair]) {
		t.Fatalf("got %+v, want pair %d of %+v", got, pair, want)
	}
	if pair/levels == want.ExpertIndex && got.Expert != want.Expert || pair%levels == want.AdviceIndex && got.Advice != want.Advice {
		t.Fatalf("got %+v, want the names of %+v", got, want)
	}
}

// TestErrors checks the status, the code and the parameter of every error.
func TestErrors(t *testing.T) {
	o := defaults()
	o.api.Rows, o.api.Body = 3, 4096
	w := newWorld(t, o)
	row := `[1,2,3,4,5,6]`
	for _, c := range []struct {
		body        string
		status      int
		code, param string
		message     string
	}{
		{``, 400, "invalid_json", "", "unexpected EOF"},
		{`{"features": [1,2`, 400, "invalid_json", "", "unexpected EOF"},
		{`{"features": ` + row + `} x`, 400, "invalid_json", "", "after top-level value"},
		{`[]`, 400, "invalid_value", "", "cannot be a list"},
		{`{}`, 400, "invalid_value", "", "give exactly one of"},
		{`{"features": null}`, 400, "invalid_value", "", "the request has none"},
		{`{"features": ` + row + `, "text": "x"}`, 400, "invalid_value", "", "features and text"},
		{`{"features": ` + row + `, "features": ` + row + `}`, 400, "invalid_json", "", "duplicate"},
		{`{"features": ` + row + `, "Policy": "any"}`, 400, "unknown_parameter", "Policy", "Policy is not a parameter"},
		{`{"features": ` + row + `, "prices": {"lamda": 1}}`, 400, "unknown_parameter", "prices.lamda", "not a parameter"},
		{`{"features": [1, NaN]}`, 400, "invalid_json", "", "invalid character"},
		{`{"features": [1, 2, 3, 4, 5, 1e39]}`, 400, "invalid_value", "features", "number 5 of row 0 is too large for a float32"},
		{`{"features": [1, "2"]}`, 400, "invalid_value", "features", "number 1 of row 0 is not a number"},
		{`{"features": [[1], [2, 3]]}`, 400, "invalid_value", "features", "row 1 has 2 numbers, row 0 has 1"},
		{`{"features": [[1], 2]}`, 400, "invalid_value", "features", "row 1 is not a list of numbers"},
		{`{"features": [[[1]]]}`, 400, "invalid_value", "features", "number 0 of row 0 is not a number"},
		{`{"features": [1, [1]]}`, 400, "invalid_value", "features", "number 1 of row 0 is not a number"},
		{`{"features": []}`, 422, "wrong_input", "features", "0 features"},
		{`{"features": [[]]}`, 400, "invalid_value", "features", "row 0 has no numbers"},
		{`{"features": "x"}`, 400, "invalid_value", "features", "neither a list"},
		{`{"features": [1, 2]}`, 422, "wrong_input", "features", "2 features, but the policy takes 6"},
		{`{"features": [` + strings.Repeat(row+",", 3) + row + `]}`, 400, "invalid_value", "features", "4 rows; at most 3"},
		{`{"features": ` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, 400, "invalid_value", "features", "is not a number"},
		{`{"features": ` + row + `, "policy": "nope"}`, 404, "policy_not_found", "policy", "known are any, fixed"},
		{`{"features": ` + row + `, "policy": "fixed", "prices": {"lambda": 1}}`, 422, "wrong_prices", "prices", "fixed prices"},
		{`{"features": ` + row + `, "prices": {"lambda": -1}}`, 422, "wrong_prices", "prices", "lambda -1"},
		{`{"features": ` + row + `, "prices": {"lambda": "1"}}`, 400, "invalid_value", "prices.lambda", "is not a number"},
		{`{"features": ` + row + `, "prices": {"lambda": 1e999}}`, 400, "invalid_value", "prices.lambda", "too large"},
		{`{"features": ` + row + `, "prices": {"experts": {"c": null}}}`, 400, "invalid_value", "prices.experts.c", "is not a number"},
		{`{"features": ` + row + `, "prices": {"pairs": {"c/x": 1}}}`, 422, "wrong_prices", "prices", `unknown pair "c/x"`},
		{`{"features": ` + row + `, "policy": "fixed", "prices": {"pairs": {"c/none": 1}}}`, 422, "wrong_prices", "prices", "fixed prices"},
		{`{"features": ` + row + `, "prices": {"experts": {"x": 1}}}`, 422, "wrong_prices", "prices", "unknown expert"},
		{`{"features": ` + row + `, "unavailable": {"experts": ["a, or b", "c", "\"quoted\""]}}`, 422, "wrong_prices", "prices", "no action remains"},
		{`{"features": ` + row + `, "unavailable": {"pairs": [null]}}`, 400, "invalid_value", "unavailable.pairs[0]", "is not a string"},
		{`{"features": ` + row + `, "top": -1}`, 400, "invalid_value", "top", "negative"},
		{`{"features": ` + row + `, "top": 1.5}`, 400, "invalid_value", "top", "whole number"},
		{`{"features": ` + row + `, "request_id": "a\nb"}`, 400, "invalid_value", "request_id", "printable ASCII"},
		{`{"features": ` + row + `, "user": "` + strings.Repeat("u", 1025) + `"}`, 400, "invalid_value", "user", "256 characters"},
		{`{"text": "x"}`, 422, "wrong_input", "text", "takes features, not texts"},
		{`{"texts": ["x", null]}`, 400, "invalid_value", "texts[1]", "is not a string"},
		{`{"texts": []}`, 400, "invalid_value", "texts", "has no rows"},
		{`{"row": {"a": [1]}}`, 400, "invalid_value", "row", `column "a" is not a string`},
		{`{"rows": [{"a": true}]}`, 400, "invalid_value", "rows[0]", "write true and false as the table does"},
		{`{"rows": [null]}`, 400, "invalid_value", "rows[0]", "is null"},
		{`{"row": {"a": 1}}`, 422, "wrong_input", "row", "not rows of raw columns"},
		{`{"image": "http://169.254.169.254/"}`, 400, "invalid_value", "image", "is a link"},
		{`{"images": ["AAAA", "?"]}`, 400, "invalid_value", "images", "image 1 is not base64"},
		{`{"messages": [{"role": "user", "content": "x"}]}`, 422, "wrong_input", "messages", "not messages"},
		{`{"messages": "x"}`, 422, "wrong_messages", "messages", "not a list"},
		{"{\"text\": \"\xff\"}", 400, "invalid_json", "", "UTF-8"},
		{`{"text": "` + `\ud800` + `"}`, 400, "invalid_json", "", "surrogate"},
		{`{"text": "` + strings.Repeat("x", 5000) + `"}`, 413, "request_too_large", "", "more than 4096 bytes"},
	} {
		status, got := w.post(t, "/v1/decide", c.body)
		e, _ := got["error"].(map[string]any)
		var param any
		if c.param != "" {
			param = c.param
		}
		if status != c.status || e["code"] != c.code || !reflect.DeepEqual(e["param"], param) || !strings.Contains(fmt.Sprint(e["message"]), c.message) {
			t.Errorf("%.100s: %d %v, want %d %s %s %q", c.body, status, e, c.status, c.code, c.param, c.message)
		}
	}
}

// TestTypes checks the types and methods that are refused.
func TestTypes(t *testing.T) {
	w := newWorld(t, defaults())
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"POST", "/v1/decide", http.Header{}, 415},
		{"POST", "/v1/decide", http.Header{"Content-Type": {"text/plain"}}, 415},
		{"POST", "/v1/decide", http.Header{"Content-Type": {"application/json; charset=latin-1"}}, 415},
		{"POST", "/v1/decide", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415},
		{"POST", "/v1/decide", http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, 200},
		{"GET", "/v1/decide", http.Header{}, 405},
		{"PUT", "/v1/outcomes", http.Header{}, 405},
		{"DELETE", "/v1/policies", http.Header{}, 405},
		{"POST", "/openapi.json", http.Header{}, 405},
	} {
		r, err := http.NewRequest(c.method, w.server.URL+c.path, strings.NewReader(`{"features": [1,2,3,4,5,6]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = c.header
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if status, got := read(t, resp); status != c.status {
			t.Errorf("%s %s %v: %d %v, want %d", c.method, c.path, c.header, status, got, c.status)
		}
		if c.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
}

// TestOneRow checks the members of an answer that are not numbers of the policy.
func TestOneRow(t *testing.T) {
	w := newWorld(t, defaults())
	got := w.decide(t, `{"features": [1,2,3,4,5,6], "top": 2, "request_id": "r-1", "prices": {"lambda": 9}}`)
	if got.Request != "r-1" || len(got.Decisions) != 1 || len(got.Decisions[0].Ranked) != 2 || len(got.Prices.Unchecked) != 1 || got.Decisions[0].ID == "" {
		t.Errorf("%+v", got)
	}
	if got := w.decide(t, `{"features": [1,2,3,4,5,6], "top": 0}`); len(got.Decisions[0].Ranked) != 0 || got.Request == "" {
		t.Errorf("%+v", got)
	}
}

// TestOutcomes checks outcomes: accepted, repeated, unknown, contradicting.
func TestOutcomes(t *testing.T) {
	w := newWorld(t, defaults())
	d := w.decide(t, inJSON(t, map[string]any{"features": numbers(1, 4)})).Decisions
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{fmt.Sprintf(`{"id": %q, "loss": 0.25, "label": "b"}`, d[0].ID), 200, `{"accepted":1,"duplicates":0}`},
		{fmt.Sprintf(`{"id": %q, "loss": 0.25, "label": "b"}`, d[0].ID), 200, `{"accepted":1,"duplicates":1}`},
		{fmt.Sprintf(`{"id": %q, "loss": 0.5}`, d[0].ID), 409, "conflicting_outcome"},
		{fmt.Sprintf(`{"outcomes": [{"id": %q, "correct": true}, {"id": %q, "score": 0.5}]}`, d[1].ID, d[2].ID), 200, `{"accepted":2,"duplicates":0}`},
		{fmt.Sprintf(`[{"id": "nope", "loss": 1}, {"id": %q, "loss": 1}, {"id": %q, "comment": "late"}]`, d[0].ID, d[3].ID), 404, `"conflicts":["` + d[0].ID + `"]`},
		{fmt.Sprintf(`{"id": %q, "comment": "late"}`, d[3].ID), 200, `"duplicates":1`},
		{`{"id": "nope", "loss": 1}`, 404, `"unknown":["nope"]`},
		{fmt.Sprintf(`{"id": %q}`, d[0].ID), 400, "states none of"},
		{`{"loss": 1}`, 400, "id needs"},
		{`[]`, 400, "there are 0 outcomes"},
		{`{"outcomes": []}`, 400, "there are 0 outcomes"},
		{`{"outcomes": [{"id": "a", "loss": 1}], "id": "b"}`, 400, "a list of outcomes and members of one"},
		{`[{"id": "a", "loss": null}]`, 400, "states none of"},
		{`[{"id": "a", "loss": 1e999}]`, 400, "too large"},
		{`{"id": "a", "score": 5}`, 400, "it is from 0 to 1"},
		{`{"id": "a", "score": -1}`, 400, "it is from 0 to 1"},
		{`{"id": "a", "loss": -1e39}`, 400, "it is from -3.4028234663852886e+38 to 3.4028234663852886e+38"},
		{`[{"id": "a", "los": 1}]`, 400, "not a parameter"},
		{`[{"id": "a", "loss": 1, "loss": 2}]`, 400, "duplicate"},
		{`5`, 400, "invalid_value"},
	} {
		status, got := w.post(t, "/v1/outcomes", c.body)
		if have := inJSON(t, got); status != c.status || !strings.Contains(have, strings.ReplaceAll(c.want, `"`, `"`)) {
			t.Errorf("%s: %d %s, want %d %s", c.body, status, have, c.status, c.want)
		}
	}
	if n := w.log.Stats().Outcomes; n != 4 {
		t.Errorf("%d outcomes are in the log, want 4", n)
	}
}

// TestPolicies checks the list of policies.
func TestPolicies(t *testing.T) {
	w := newWorld(t, defaults())
	resp, err := http.Get(w.server.URL + "/v1/policies")
	if err != nil {
		t.Fatal(err)
	}
	_, got := read(t, resp)
	list := got["policies"].([]any)
	first := list[0].(map[string]any)
	if len(list) != 2 || first["name"] != "any" || first["default"] != true || first["features"] != 6.0 || first["any_price"] == nil || len(first["pairs"].([]any)) != 9 {
		t.Errorf("%v", got)
	}
}

// TestOpenAPI checks that the file is there and is JSON.
func TestOpenAPI(t *testing.T) {
	w := newWorld(t, defaults())
	resp, err := http.Get(w.server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if status, got := read(t, resp); status != 200 || got["openapi"] == "" {
		t.Errorf("%d %v", status, got)
	}
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		os.Exit(code)
	}))
}
