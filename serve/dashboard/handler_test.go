package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// The figures of the page are those of the collector.
func TestPageShowsTheFigures(t *testing.T) {
	w := newWorld(t, nil)
	w.decide(t, "any", 400)
	w.collector.Request("decide", 503, 0)
	body := w.get(t, "/?minutes=15&policy=any", 200)
	balanced(t, body)
	s := w.collector.State(15)
	p := s.Policies[0]
	rows := texts(t, body, "tr")
	for _, pair := range p.Pairs {
		if pair.Chosen > 0 {
			contains(t, rows, fmt.Sprintf("%s%s%d%d%s", pair.Pair, percent(pair.Share), pair.Chosen, pair.Outcomes, costOr(pair.Loss)))
		}
	}
	contains(t, rows, "expected cost"+costOr(p.Costs.ExpectedCost)+"400", "measured cost"+interval(p.Costs.MeasuredCost)+"200")
	for _, saving := range p.Savings {
		contains(t, rows, saving.Against+interval(&saving.Mean)+whole(saving.N))
	}
	if len(p.Savings) == 0 {
		t.Error("no saving")
	}
	contains(t, texts(t, body, "p"), "400 decisions in the last 15 minutes. 0.2% of the requests failed.", "The policy any saves")
	contains(t, texts(t, body, "dd"), "401 in the last 15 minutes", "1 request was answered with 500 or above")
	contains(t, texts(t, body, "option"), "fixed", "1 minute")
	var state State
	if err := json.Unmarshal([]byte(w.get(t, "/page/state", 200)), &state); err != nil || state.Policies[0].Decisions != 400 || state.Traffic.Requests != 401 {
		t.Errorf("state %+v, %v", state, err)
	}
	var parts struct {
		Sections []part
		Answers  string
	}
	if err := json.Unmarshal([]byte(w.get(t, "/page/parts?minutes=15", 200)), &parts); err != nil {
		t.Fatal(err)
	}
	age := regexp.MustCompile(`\d+ s ago`) // the page and its pieces may be of different seconds
	body = age.ReplaceAllString(body, "now")
	for _, s := range parts.Sections {
		balanced(t, s.HTML)
		if s.ID != "traffic" && !strings.Contains(body, age.ReplaceAllString(s.HTML, "now")) {
			t.Errorf("the page has another section %q:\n%s", s.ID, s.HTML)
		}
	}
}

// Before the first decision the page says how to make one.
func TestEmptyPage(t *testing.T) {
	w := newWorld(t, func(s *Sources) { s.Keys = true })
	body := w.get(t, "/", 200)
	balanced(t, body)
	contains(t, texts(t, body, "p"), "No decision has been made yet.")
	host, _ := url.Parse(w.URL)
	contains(t, texts(t, body, "code"), "curl -s http://"+host.Host+"/v1/decide", `$(seq -s, 6)`, "Bearer $PIPE_KEY")
	if rows := texts(t, body, "tr"); len(rows) != 5 {
		t.Errorf("policies %q", rows)
	}
	contains(t, texts(t, w.get(t, "/?policy=table", 200), "code"), `-d '{"policy": "table", "rows": [{"amount": "", "when": "", "n_1": ""}]}'`)
	r, _ := http.NewRequest(http.MethodGet, w.URL, nil)
	r.Host = "evil'; rm -rf;"
	if answer, err := w.Client().Do(r); err == nil {
		contains(t, texts(t, bodyOf(t, answer, 200), "code"), "http://localhost/v1")
	}
}

// The monitor is not asked for every refresh.
func TestMonitorIsAskedSeldom(t *testing.T) {
	var asked atomic.Int64
	w := newWorld(t, func(s *Sources) {
		s.Monitor = func() []MonitorState { asked.Add(1); return []MonitorState{{Policy: "any", Verdict: "ok"}} }
	})
	for range 5 {
		if !strings.Contains(w.get(t, "/page/parts", 200), `"id":"monitor"`) {
			t.Error("no monitor")
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// The section about patience says what is learned, what is not known, and what was cut.
func TestPatience(t *testing.T) {
	w := newWorld(t, func(s *Sources) {
		s.Patience = func() []PatienceState {
			return []PatienceState{
				{Expert: "large", Stream: true, Tokens: 1024, Answers: 2000, Median: 1.5, P95: 30, P99: 94, Allowance: 280, Known: true, Slow: 3, Silent: 5},
				{Expert: "large", Stream: true, Answers: 7, Median: 2.5, P95: 3.5, P99: 4.5, Allowance: 180, Slow: 3, Silent: 5},
				{Expert: "small"},
			}
		}
	})
	body := w.get(t, "/", 200)
	balanced(t, body)
	contains(t, texts(t, body, "td"), "streams", "up to 1,024 tokens", "94.0 s", "280 s", "180 s, not learned yet", "whole", "longer", "–", "the flat timeouts")
	contains(t, texts(t, body, "li"), "large: 3 calls were cut for its own silence, 5 because the expert was silent on all newer calls too")
	if state := w.get(t, "/page/state", 200); !strings.Contains(state, `{"expert":"small","stream":false,"tokens":0,"answers":0,"known":false,"cut_slow":0,"cut_silent":0}`) {
		t.Error(state)
	}
}

// What comes from names stays text.
func TestHostileNames(t *testing.T) {
	w := newWorld(t, func(s *Sources) {
		s.Breakers = func() []Breaker { return []Breaker{{Expert: hostile, State: breakerOpen, Failures: 3}} }
		s.Patience = func() []PatienceState { return []PatienceState{{Expert: hostile, Slow: 1}} }
		s.Log = func() *LogState { return &LogState{Stopped: true} }
		s.Monitor = func() []MonitorState {
			return []MonitorState{{Policy: hostile, Verdict: "alarm", Notes: []string{hostile}}}
		}
	})
	w.decide(t, "hostile", 50)
	body := w.get(t, "/?policy=hostile&lambda=2&e0=0.3", 200)
	balanced(t, body)
	if strings.Contains(body, "<script>alert") || strings.ContainsAny(body, "\x1b\u202e") {
		t.Error("a name is markup")
	}
	contains(t, texts(t, body, "th"), hostile)
	contains(t, texts(t, body, "p"), "The breaker of the expert "+hostile+" is open: it is not called", "The decision log has stopped", "The monitor of the policy "+hostile+" has raised an alarm")
	for _, q := range []string{`?policy=%3Cb%3E&minutes=%3Cb%3E`, "?lambda=%3Cb%3Ex", "?policy=any&e0=-1", "?minutes=99999999999999"} {
		balanced(t, w.get(t, "/"+q, 200))
	}
}

// The frontier is what the policy decides on the kept rows: it agrees with a router at the same prices.
func TestFrontier(t *testing.T) {
	w := newWorld(t, nil)
	w.decide(t, "any", 300)
	var out struct {
		HTML     string
		Frontier Frontier
	}
	if err := json.Unmarshal([]byte(w.get(t, "/page/frontier?policy=any&lambda=3&e0=0.25", 200)), &out); err != nil {
		t.Fatal(err)
	}
	f := out.Frontier
	if f.Rows != 256 || f.Lambda != 3 || len(f.Curve) != len(scales) || len(f.Pairs) != 8 || f.File == nil || len(f.Unchecked) != 1 {
		t.Fatalf("%+v", f)
	}
	for i := range f.Curve[1:] {
		if f.Curve[i+1].Fee > f.Curve[i].Fee+1e-9 {
			t.Errorf("the mean fee rises from %+v to %+v", f.Curve[i], f.Curve[i+1])
		}
	}
	for _, p := range f.Pairs {
		if f.Chosen.Cost > p.Cost+1e-6 {
			t.Errorf("the policy costs %g, always %s %g", f.Chosen.Cost, p.Pair, p.Cost)
		}
	}
	if f.File.Cost < f.Chosen.Cost {
		t.Errorf("at other prices it is cheaper: %+v, %+v", f.File, f.Chosen)
	}
	p, err := w.decider.Policies().Acquire("any")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	lambda := 3.0
	at, err := p.Info().Price(policy.PriceChange{Lambda: &lambda, Fees: []policy.Fee{{Of: policy.Expert("a, or b"), Amount: 0.25}}})
	if err != nil {
		t.Fatal(err)
	}
	rows := w.collector.sampleOf("any", p.Digest)
	loss, fee := 0.0, 0.0
	for i := range 256 { // one by one
		d, err := p.Decide(t.Context(), at, rows[i*dim:(i+1)*dim], 1)
		if err != nil {
			t.Fatal(err)
		}
		loss += float64(d.Loss[d.Action[0]]) / 256
		fee += at.Fees()[d.Action[0]] / 256
	}
	if math.Abs(loss-f.Chosen.Loss) > 1e-5 || math.Abs(fee-f.Chosen.Fee) > 1e-9 {
		t.Errorf("decided one by one: fee %g, loss %g, want %+v", fee, loss, f.Chosen)
	}
	balanced(t, out.HTML)
	contains(t, texts(t, w.get(t, "/?policy=any&lambda=3&e0=0.25", 200), "tr"), "the policy"+cost(f.Chosen.Cost)+cost(f.Chosen.Fee)+cost(f.Chosen.Loss))
	for path, status := range map[string]int{"?policy=none": 404, "?policy=any&lambda=x": 400, "?policy=any&e0=1e99": 400, "?policy=hostile": 200} {
		w.get(t, "/page/frontier"+path, status)
	}
}

// post sends the form of a try.
func (w *world) post(t testing.TB, status int, accept string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, w.URL+"/page/try", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", accept)
	answer, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, answer, status)
}

// A try is decided as the server decides, and is not counted.
func TestTry(t *testing.T) {
	w := newWorld(t, nil)
	x := []float32{0.5, -1, 2, 0, 1, 1}
	r, err := w.decider.Decide(t.Context(), decision.Request{Policy: "any", Inputs: policies.Inputs{Features: x}, NoExplore: true})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, i := range r.Ranked(0) {
		d := r.Decisions
		want += `[\s\S]*` + regexp.QuoteMeta(r.Name(i)+cost(float64(d.Cost[i]))+cost(float64(d.Loss[i]))+cost(r.Prices.Fee(i)))
	}
	r.Policy.Release() // not done, so not counted
	form := url.Values{"policy": {"any"}, "kind": {"features"}, "input": {"[0.5, -1, 2 0,1\n1]"}}
	page := w.post(t, 200, "text/html", form)
	balanced(t, page)
	text := strings.Join(append(texts(t, page, "h2"), texts(t, page, "tr")...), "\n")
	if !regexp.MustCompile(want).MatchString(text) {
		t.Errorf("%s does not match %s", text, want)
	}
	contains(t, texts(t, page, "textarea"), "[0.5, -1, 2 0,1\n1]")
	var out struct{ HTML string }
	if err := json.Unmarshal([]byte(w.post(t, 200, "application/json", form)), &out); err != nil || !strings.Contains(out.HTML, "The policy any@") {
		t.Errorf("%v: %s", err, out.HTML)
	}
	if s := w.collector.State(60); s.Traffic.TotalDecisions != 0 || len(s.Policies) != 0 {
		t.Errorf("a try was counted: %+v", s.Traffic)
	}
	for _, c := range []struct {
		status int
		form   url.Values
	}{
		{400, url.Values{"policy": {"any"}, "input": {"1 2"}}},
		{400, url.Values{"policy": {"any"}, "input": {"1 2 3 4 5 NaN"}}},
		{400, url.Values{"policy": {"any"}, "kind": {"text"}, "input": {"hello"}}},
		{400, url.Values{"policy": {"any"}, "kind": {"recent"}}},
		{400, url.Values{"policy": {"any"}, "kind": {"x"}}},
		{400, url.Values{"policy": {"any"}, "kind": {"row"}, "input": {`{"a": [1]}`}}},
		{400, url.Values{"policy": {"any"}, "lambda": {"-1"}, "input": {"1 2 3 4 5 6"}}},
		{404, url.Values{"policy": {"<b>"}}},
		{400, url.Values{"policy": {"table"}, "kind": {"row"}, "input": {`{"amount": "x"}`}}},
		{400, url.Values{"policy": {"table"}, "kind": {"row"}, "input": {`{"other": 1}`}}},
		{200, url.Values{"policy": {"table"}, "kind": {"row"}, "input": {`{"amount": 3.5, "when": null, "n_1": "7"}`}}},
		{200, url.Values{"policy": {"fixed"}, "input": {"1 2 3 4 5 6"}}},
	} {
		balanced(t, w.post(t, c.status, "text/html", c.form))
	}
	w.decide(t, "any", 3)
	w.post(t, 200, "text/html", url.Values{"policy": {"any"}, "kind": {"recent"}, "lambda": {"2"}})
}

// Another site cannot make a browser try something.
func TestTryFromAnotherSite(t *testing.T) {
	w := newWorld(t, nil)
	r, err := http.NewRequest(http.MethodPost, w.URL+"/page/try", strings.NewReader("policy=any"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %s", answer.Status)
	}
}

// A decider with a log, a canary and a shadow feeds the collector: what it counts is what the log has.
func TestObserver(t *testing.T) {
	w := newWorld(t, nil)
	folder := t.TempDir()
	log, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	settings := decision.DefaultSettings()
	settings.Canary = []decision.Canary{{Of: "any", Policy: "hostile", Share: 0.3}}
	settings.Shadow = []decision.Shadow{{Of: "any", Policy: "fixed"}}
	d, err := decision.New(w.decider.Policies(), log, nil, nil, settings)
	if err != nil {
		t.Fatal(err)
	}
	d.Observe(w.collector)
	right := true
	for i := range 100 {
		r, err := d.Decide(t.Context(), decision.Request{Policy: "any", Inputs: policies.Inputs{Features: []float32{float32(i), 1, 2, 3, 4, float32(-i)}}, User: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second is a duplicate
			if _, err := d.Outcome(decisionlog.Outcome{ID: r.Records[0].ID, Correct: &right}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	logged, err := decisionlog.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*PolicyState{}
	same := map[string]int64{}
	for l, err := range logged.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		r := l.Record
		if want[r.Policy] == nil {
			want[r.Policy] = &PolicyState{}
		}
		want[r.Policy].Decisions++
		increment(&want[r.Policy].Canary, r.Canary)
		if r.Shadows[0].Action == r.Greedy {
			same[r.Policy]++
		}
	}
	s := w.collector.State(5)
	if len(s.Policies) != 2 || s.Traffic.Decisions != 100 {
		t.Fatalf("%+v", s)
	}
	for _, p := range s.Policies {
		expected := want[p.Name]
		if p.Decisions != expected.Decisions || p.Canary != expected.Canary || p.Costs.Outcomes != p.Decisions {
			t.Errorf("%+v, want %+v", p, expected)
		}
		// The names of a pair are the same in any and fixed, and hostile has others for some.
		if sh := p.Shadows[0]; sh.N != p.Decisions || p.Name == "any" && sh.Agreement != float64(same[p.Name])/float64(p.Decisions) {
			t.Errorf("%s: shadow %+v, want %d of %d", p.Name, sh, same[p.Name], p.Decisions)
		}
	}
	if page := w.get(t, "/?policy=hostile", 200); !strings.Contains(page, "made as a canary") {
		t.Error("no canary")
	}
}
