package decideapi

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies/policiestest"
)

// nextJSON is what a client reads about the next step of a cascade.
type nextJSON struct {
	Policy struct{ Name, Digest string }
	Accept bool
	Pair   string
	Index  int
	Loss   *float32 `json:"expected_loss"`
	Cost   float32  `json:"expected_cost"`
	Ranked []struct {
		Index    int
		Executed bool
		Cost     float32 `json:"expected_cost"`
	}
}

func cascadeWorld(t *testing.T, change ...func(*options)) (*world, *cascade.Decider) {
	t.Helper()
	o := defaults()
	for _, c := range change {
		c(&o)
	}
	o.files = t.TempDir()
	path := filepath.Join(o.files, "stages.onnx")
	policiestest.WriteCascade(t, path, dim, 7)
	d, err := cascade.Open(orttest.Open(t, 1), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return newWorld(t, o), d
}

// TestNextStep: the steps of a cascade over HTTP are those of its file in the same state, with and without pairs that must not be
// executed, and they are not logged.
func TestNextStep(t *testing.T) {
	w, d := cascadeWorld(t)
	none := float32(math.NaN())
	for i, row := range numbers(3, 20) {
		for _, c := range []struct {
			text, more string
			executed   []int
			observed   map[int]float32
			without    []int
		}{
			{`{}`, "", nil, nil, nil},
			{`{"e0/none":{"label":"yes","length":0.5}}`, "", []int{0}, map[int]float32{0: 1, 1: 0.5}, nil},
			{`{"e0/none":{"label":"maybe","length":null}}`, "", []int{0}, nil, nil},
			{`{"e1/none":null}`, `,"unavailable":{"experts":["e2"]}`, []int{2}, nil, []int{4}},
			{`{"e0/none":{},"e2/none":{"length":-1}}`, `,"top":1`, []int{0, 4}, map[int]float32{9: -1}, nil},
		} {
			rows := cascade.Rows{N: 1, Features: row, Executed: make([]bool, 6), Observed: slices.Repeat([]float32{none}, 12)}
			for _, e := range c.executed {
				rows.Executed[e] = true
			}
			for at, v := range c.observed {
				rows.Observed[at] = v
			}
			want, err := d.Next(t.Context(), rows)
			if err != nil {
				t.Fatal(err)
			}
			action, _ := want.Possible(0, 6, func(i int) bool { return !slices.Contains(c.without, i) })
			resp, err := http.Post(w.server.URL+"/v1/decide", "application/json", strings.NewReader(fmt.Sprintf(`{"policy":"stages","features":%s,"executed":%s%s}`, inJSON(t, row), c.text, c.more)))
			if err != nil {
				t.Fatal(err)
			}
			var got nextJSON
			err = json.NewDecoder(resp.Body).Decode(&got)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") == "" || got.Policy.Name != "stages" {
				t.Fatalf("%d %v %+v", resp.StatusCode, err, got)
			}
			if got.Index != action || got.Accept != rows.Executed[action] || got.Cost != want.Cost[action] || (got.Loss == nil) != (len(c.executed) == 0) || got.Loss != nil && *got.Loss != want.Loss[0] {
				t.Errorf("row %d, %s: %+v, want %d of %v", i, c.text, got, action, want.Cost)
			}
			if n := len(got.Ranked); got.Ranked[0].Index != action || c.more == `,"top":1` && n != 1 || c.more == "" && n < 2 {
				t.Errorf("row %d, %s: %+v", i, c.text, got.Ranked)
			}
			for n, r := range got.Ranked {
				if slices.Contains(c.without, r.Index) || r.Executed != rows.Executed[r.Index] || n > 1 && r.Cost < got.Ranked[n-1].Cost {
					t.Errorf("row %d, %s: %+v", i, c.text, got.Ranked)
				}
			}
		}
	}
	if s := w.log.Stats(); s.Queued != 0 || s.Records != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNextStepAtPrices: the steps of an any-price cascade over HTTP, the first one too, are those of its file at the prices of the request,
// with what waits for people as a fee.
func TestNextStepAtPrices(t *testing.T) {
	o := defaults()
	o.files = t.TempDir()
	path := filepath.Join(o.files, "stages.onnx")
	policiestest.WritePricedCascade(t, path, dim, 7)
	queue := []float64{0, 0, 0.25, 0.25, 0, 0}
	o.people = func([]string) func(*costs.Actions) ([]float64, []policy.Part) {
		return func(a *costs.Actions) ([]float64, []policy.Part) {
			if a.Len() != len(queue) {
				return nil, nil
			}
			return queue, nil
		}
	}
	w := newWorld(t, o)
	d, err := cascade.Open(orttest.Open(t, 1), path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	met := map[bool]bool{}
	for i, row := range numbers(3, 40) {
		lambda, fee := float64(i%4), 0.1*float64(i%7)
		at, err := d.Info().Price(policy.PriceChange{
			Lambda: &lambda, Fees: []policy.Fee{{Of: policy.Expert("e2"), Amount: fee}, {Of: policy.Pair("e0/docs"), Amount: 0.1}}, Surcharge: queue,
			Without: []policy.Part{policy.Pair("e1/docs")},
		})
		if err != nil {
			t.Fatal(err)
		}
		prices := fmt.Sprintf(`"prices":{"lambda":%g,"experts":{"e2":%g},"pairs":{"e0/docs":0.1}},"unavailable":{"pairs":["e1/docs"]}`, lambda, fee)
		for text, executed := range map[string]int{"": -1, `"executed":{"e0/none":{"label":"yes"}},`: 0, `"executed":{"e1/none":{}},`: 2} {
			rows := cascade.Rows{N: 1, Features: row, Executed: make([]bool, 6), Observed: slices.Repeat([]float32{float32(math.NaN())}, 12)}
			if executed >= 0 {
				rows.Executed[executed] = true
			}
			if executed == 0 {
				rows.Observed[0] = 1
			}
			want, err := d.NextAt(t.Context(), []*policy.Prices{at}, rows)
			if err != nil {
				t.Fatal(err)
			}
			own, err := d.Next(t.Context(), rows)
			if err != nil {
				t.Fatal(err)
			}
			met[own.Action[0] == want.Action[0]] = true
			status, got := w.post(t, "/v1/decide", fmt.Sprintf(`{"policy":"stages","features":%s,%s%s}`, inJSON(t, row), text, prices))
			step := got
			if text == "" {
				step = got["decisions"].([]any)[0].(map[string]any)
			}
			action, fees := int(want.Action[0]), at.Fee(int(want.Action[0]))
			if want.Accept[0] {
				fees = 0
			}
			if status != 200 || step["index"] != float64(action) || math.Abs(step["fee"].(float64)-fees) > 1e-9 || math.Abs(step["expected_cost"].(float64)-float64(want.Remaining[0])) > 1e-5 || got["prices"].(map[string]any)["lambda"] != lambda {
				t.Errorf("row %d, %s: %d %v, want %d with a fee of %v", i, text, status, got, action, fees)
			}
		}
	}
	if !met[true] || !met[false] {
		t.Error("prices change all decisions, or none")
	}
	for prices, want := range map[string]string{`{"lambda":-1}`: "lambda", `{"experts":{"nobody":1}}`: "unknown expert", `{"usage":{"e0":{"tokens_in":1}}}`: "usage"} {
		if status, got := w.post(t, "/v1/decide", `{"policy":"stages","features":`+inJSON(t, numbers(3, 1)[0])+`,"executed":{"e0/none":{}},"prices":`+prices+`}`); status != 422 || !strings.Contains(fmt.Sprint(got), want) {
			t.Errorf("%s: %d %v", prices, status, got)
		}
	}
}

// People who are not there are left out of a next step, as of the first decision, and so is what must not be chosen. The answers at hand
// stay, whatever is left out.
func TestNextStepWithoutPeople(t *testing.T) {
	closed := []policy.Part{policy.Pair("e1/none"), policy.Pair("e1/docs")}
	w, d := cascadeWorld(t, func(o *options) {
		o.people = func(tags []string) func(*costs.Actions) ([]float64, []policy.Part) {
			return func(*costs.Actions) ([]float64, []policy.Part) {
				if slices.Contains(tags, "night") {
					return make([]float64, 6), closed
				}
				return make([]float64, 6), nil
			}
		}
	})
	met := map[bool]bool{}
	for i, row := range numbers(3, 40) {
		rows := cascade.Rows{N: 1, Features: row, Executed: []bool{true, false, false, false, false, false}, Observed: slices.Repeat([]float32{float32(math.NaN())}, 12)}
		want, err := d.Next(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for text, left := range map[string][]int{
			`"tags":["day"]`:   {0, 1, 2, 3, 4},
			`"tags":["night"]`: {0, 1, 4},
			`"tags":["night"],"unavailable":{"experts":["e0"]}`:                                            {0, 4}, // e0/none was executed
			`"tags":["night"],"unavailable":{"experts":["e0","e2"],"pairs":["e0/none"],"advice":["docs"]}`: {0},
		} {
			best, _ := want.Possible(0, 6, func(i int) bool { return slices.Contains(left, i) })
			status, got := w.post(t, "/v1/decide", fmt.Sprintf(`{"policy":"stages","features":%s,"executed":{"e0/none":{}},%s}`, inJSON(t, row), text))
			ranked, _ := got["ranked"].([]any)
			if status != 200 || got["index"] != float64(best) || len(ranked) != len(left) {
				t.Errorf("row %d, %s: %d %v, want %d", i, text, status, got, best)
			}
			met[best == int(want.Action[0])] = true
		}
		first, _ := w.post(t, "/v1/decide", fmt.Sprintf(`{"policy":"stages","features":%s,"executed":{},"tags":["night"],"unavailable":{"experts":["e0","e2"]}}`, inJSON(t, row)))
		if first != 422 {
			t.Errorf("%d where no pair is left", first)
		}
	}
	if !met[true] || !met[false] {
		t.Error("the people are always, or never, the best ones")
	}
}

// TestNextAccepted: the guarantee of a cascade accepts an answer where its file does, on the path that it takes itself. Another path, and
// another answer, are not accepted.
func TestNextAccepted(t *testing.T) {
	o := defaults()
	o.files = t.TempDir()
	path := filepath.Join(o.files, "stages.onnx")
	policiestest.WriteCascade(t, path, dim, 7)
	m, _, err := cascade.Read(path)
	if err == nil {
		m, err = cascadetest.Guarded(m, 0.2)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := cascade.Open(orttest.Open(t, 1), path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := newWorld(t, o)
	ask := func(row []float32, executed, more string) (got struct {
		nextJSON
		Accepted *bool
		Instead  string
	},
	) {
		t.Helper()
		resp, err := http.Post(w.server.URL+"/v1/decide", "application/json", strings.NewReader(fmt.Sprintf(`{"policy":"stages","features":%s,"executed":%s%s}`, inJSON(t, row), executed, more)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp.Status, err)
		}
		return got
	}
	counts := map[string]int{}
	for _, row := range numbers(3, 60) {
		first := ask(row, `{}`, "")
		if first.Accepted != nil || first.Instead != "" {
			t.Fatalf("nothing is accepted yet: %+v", first)
		}
		executed := map[string]any{first.Pair: map[string]any{"length": 0.1}}
		for {
			got := ask(row, inJSON(t, executed), "")
			if !got.Accept {
				if got.Accepted != nil {
					t.Fatalf("%+v", got)
				}
				executed[got.Pair] = map[string]any{"length": 0.1}
				continue
			}
			accepts := *got.Loss <= 0.2
			counts[fmt.Sprint("on its path ", accepts)]++
			if got.Accepted == nil || *got.Accepted != accepts || (got.Instead == "") != accepts {
				t.Fatalf("%v: %+v", executed, got)
			}
			break
		}
		for _, other := range []string{"e0/none", "e1/none", "e2/none"} {
			if got := ask(row, `{"`+other+`":{"length":0.1}}`, ""); got.Accept && other != first.Pair {
				if counts["another path"]++; got.Accepted == nil || *got.Accepted || got.Instead != "abstain" {
					t.Fatalf("%s, not %s first: %+v", other, first.Pair, got)
				}
			}
		}
	}
	if len(counts) < 3 {
		t.Errorf("the rows test too little: %v", counts)
	}
}

// The record of a first decision says that it is one of a cascade: its outcome is that of an answer that was accepted later, and not that
// of its pair.
func TestFirstStepIsLogged(t *testing.T) {
	w, _ := cascadeWorld(t)
	for _, name := range []string{"stages", "any"} {
		w.decide(t, `{"policy":"`+name+`","features":`+inJSON(t, numbers(3, 1)[0])+`}`)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := decisionlog.Read(w.logged)
	if err != nil {
		t.Fatal(err)
	}
	var records []*decisionlog.Record
	for d, err := range log.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, d.Record)
	}
	if len(records) != 2 || records[1].IsCascade() {
		t.Fatalf("%d records", len(records))
	}
	first := records[0]
	if !first.IsCascade() || len(first.Cascade) != 1 || first.Cascade[0].Action != first.Action || first.PathPropensity() != 1 || !math.IsNaN(first.Paid()) || first.Cascade[0].Facts != "" {
		t.Errorf("%+v", first)
	}
}

// A state that the policy cannot be in is refused, with the member and why.
func TestWrongState(t *testing.T) {
	w, _ := cascadeWorld(t)
	row := inJSON(t, numbers(3, 1)[0])
	for body, want := range map[string]string{
		`"policy":"fixed","features":` + row + `,"executed":{}`:                                                                              "is no cascade",
		`"policy":"stages","features":` + row + `,"executed":{"nobody/none":{}}`:                                                             "is no pair",
		`"policy":"stages","features":` + row + `,"executed":{"e2/docs":{}}`:                                                                 "is no pair",
		`"policy":"stages","features":` + row + `,"executed":{"e0/none":{"height":1}}`:                                                       "is no fact",
		`"policy":"stages","features":` + row + `,"executed":{"e0/none":{"label":1}}`:                                                        "neither a text nor null",
		`"policy":"stages","features":` + row + `,"executed":{"e0/none":{"length":"1"}}`:                                                     "neither a number nor null",
		`"policy":"stages","features":` + row + `,"executed":{"e0/none":{},"e0/docs":{},"e1/none":{}}`:                                       "executes 2 on a row",
		`"policy":"stages","features":[` + row + `,` + row + `],"executed":{"e0/none":{}}`:                                                   "one row",
		`"policy":"stages","features":` + row + `,"executed":{"e0/none":{}},"prices":{"lambda":2}`:                                           "fixed prices",
		`"policy":"stages","features":` + row + `,"executed":{},"unavailable":{"pairs":["e0/none","e0/docs","e1/none","e1/docs","e2/none"]}`: "no action remains",
	} {
		status, answer := w.post(t, "/v1/decide", "{"+body+"}")
		if text := fmt.Sprint(answer); status != 422 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	for _, body := range []string{`"executed":[]`, `"executed":{"e0/none":1}`, `"executed":{"a":{},"a":{}}`} {
		if status, answer := w.post(t, "/v1/decide", `{"policy":"stages","features":`+row+`,`+body+`}`); status != 400 {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
}
