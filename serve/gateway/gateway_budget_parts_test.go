package gateway

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/models/estimate"
	"pipe/models/policy"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/panels"
	"pipe/serve/gateway/patience"
	"pipe/serve/ledger"
)

// Where the only pairs that a budget covers are excluded, the error says that it is the budget.
func TestBudgetLeavesNoPair(t *testing.T) {
	w := newWorld(t, budgeted(budget.Budget{Name: "small", Tokens: 10, Per: ledger.Month, Of: budget.Expert, Only: []string{"small"}}))
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses"} {
		body := strings.Replace(question+`}`, `,"seed":12345678901234567890,"user":"u1"`, "", 1)
		switch path {
		case "/v1/messages":
			body = strings.Replace(body, "{", `{"max_tokens":100,`, 1)
		case "/v1/responses":
			body = strings.Replace(body, "messages", "input", 1)
		}
		a := w.postTo(t, path, body, "X-Pipe-Without", "pair=large/none,pair=large/search")
		if a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "the budget small:small has no tokens left in this month") || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
}

// The calls of a judge are bounded by the budgets of all calls, too.
func TestPanelJudgeIsBudgeted(t *testing.T) {
	g := asks("{{.Answer}}: GOOD, HALF or BAD?")
	w := newWorld(t, func(s *Settings) {
		s.Panel = panelOf(t, 1, panels.All)
		s.Panel.Answers, s.Panel.Grader = "", &g
		s.Experts["judge"] = s.Experts["large"]
		budgeted(budget.Budget{Name: "judge", Tokens: 2300, Per: ledger.Month, Of: budget.Expert, Only: []string{"judge"}})(s)
	})
	w.post(t, question+`}`)
	w.api.Drain(t.Context())
	for _, s := range w.api.Budgets() {
		if s.Member == "judge" && (s.Spent != 2200 || s.Held != 0) {
			t.Errorf("%+v", s)
		}
	}
	if len(w.api.Budgets()) != 1 {
		t.Errorf("%+v", w.api.Budgets())
	}
}

// marginWorld is a world whose policy prefers small/search by its margin, though it expects large/search to cost a little less.
func marginWorld(t *testing.T, change func(*Settings)) *world {
	return newWorldOf(t, nil, change, func(folder string, _ *decision.Settings) {
		writeAnyPrice(t, folder, "claims", func(p *policy.Policy) {
			p.Info = worthOfLoss(1)
			p.Estimate.Blend.Parts[0].Estimator.(estimate.Linear).Affine.B[3] = 0.095
		})
	})
}

// What the margin of a policy decides was decided neither by a budget nor by the price of a switch.
func TestMarginIsNoPrice(t *testing.T) {
	w := marginWorld(t, func(s *Settings) {
		s.Sessions.On = true
		budgeted(budget.Budget{Name: "all", Money: 1000, Per: ledger.Month, Of: budget.Total})(s)
		for name, e := range s.Experts {
			cached := 0.1
			e.Price.Cached = &cached
			s.Experts[name] = e
		}
	})
	const first = `{"role":"system","content":"Be brief."},{"role":"user","content":"Is oil good?"}`
	for _, messages := range []string{first, first + `,{"role":"assistant","content":"Yes."},{"role":"user","content":"Why?"}`} {
		if a := w.post(t, `{"model":"pipe","messages":[`+messages+`]}`); a.header.Get(headerExpert) != "small" {
			t.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
	}
	for i, r := range w.records(t) {
		if r.Turn != i+1 || r.Kept != "" || r.BudgetDecided || r.SwitchCostKnown != (i == 1) || !(r.ExpectedCost[3] < r.ExpectedCost[1]) {
			t.Errorf("%+v", r)
		}
	}
}

// A count of tokens is free at the services, so it uses nothing of a budget.
func TestCountsOfTokensAreFree(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		budgeted(budget.Budget{Name: "all", Tokens: 10, Per: ledger.Month, Of: budget.Total})(s)
		e := s.Experts["small"]
		e.Kind = "anthropic"
		s.Experts["small"] = e
	})
	w.small.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(rw, `{"input_tokens":7}`)
		return true
	})
	a := w.postTo(t, "/v1/messages/count_tokens", `{"model":"small","messages":[{"role":"user","content":"Is oil good?"}]}`)
	if s := w.state(t); a.status != 200 || a.body != `{"input_tokens":7}` || s.Spent != 0 || s.Held != 0 || s.Refused != 0 {
		t.Errorf("%d %s %+v", a.status, a.body, s)
	}
}

// A price file without the prices by which a budget is bounded changes nothing.
func TestPricesThatBoundNoBudget(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	write := func(models string) {
		if err := os.WriteFile(file, []byte("currency: USD\nmodels: {"+models+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`model-s: [{in: 1, cached: 1, out: 10}]`)
	w := newWorld(t, func(s *Settings) {
		budgeted(budget.Budget{Name: "all", Money: 1, Per: ledger.Month, Of: budget.Total})(s)
		e := s.Experts["small"]
		e.Price, e.Prices = nil, config.Path(file)
		s.Experts["small"] = e
	})
	write(`model-s: [{in: 2, cached: 2}]`)
	if err := w.api.ReadPrices(t.Context(), file); err == nil || !strings.Contains(err.Error(), `budgets: all: the most that a call of the expert "small" can cost is not known`) {
		t.Error(err)
	}
	if a := w.post(t, question+`}`); a.status != 200 || a.header.Get(headerExpert) != "small" || w.state(t).Spent == 0 {
		t.Errorf("%d %s %+v", a.status, a.body, w.state(t))
	}
	write(`model-s: [{in: 2, cached: 2, out: 10}]`)
	if err := w.api.ReadPrices(t.Context(), file); err != nil {
		t.Error(err)
	}
}

// panics is a connection whose handler panics when it writes.
type panics struct{ *httptest.ResponseRecorder }

func (panics) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

// A request that ends in a panic holds nothing of a budget any more, and its call counts as the most that it could use.
func TestPanicHoldsNoBudget(t *testing.T) {
	for _, model := range []string{"pipe", "small"} {
		w := newWorld(t, budgeted(budget.Budget{Name: "all", Tokens: 10000, Per: ledger.Month, Of: budget.Total}))
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"a"}]}`))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			w.Config.Handler.ServeHTTP(panics{httptest.NewRecorder()}, r)
		}()
		if s := w.state(t); s.Held != 0 || !(s.Spent > 100) || s.Spent > 1000 {
			t.Errorf("%s: %+v", model, s)
		}
	}
}

// A call that nothing bounds is refused as such, and not as one for which there is no room today.
func TestUnboundedCall(t *testing.T) {
	w := newWorld(t, budgeted(budget.Budget{Name: "all", Tokens: 10000, Per: ledger.Month, Of: budget.Total}))
	w.small.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(rw, `{"model":"model-s","choices":[{"text":"x"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
		return true
	})
	for body, want := range map[string]int{`"prompt":"a"`: 400, `"prompt":"a","max_tokens":10`: 200} {
		a := w.postTo(t, "/v1/completions", `{"model":"small",`+body+`}`)
		if a.status != want || want == 400 && (!strings.Contains(a.body, "nothing bounds its answer") || a.header.Get("Retry-After") != "") {
			t.Errorf("%s: %d %v %s", body, a.status, a.header, a.body)
		}
	}
	a := w.postTo(t, "/v1/responses", `{"model":"pipe","input":"a","max_output_tokens":10,"tools":[{"type":"web_search"}]}`)
	if a.status == 200 || a.status == 429 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A call that ends because another one answered first is cancelled, in the terms of traces.
func TestCancelledCallInTraces(t *testing.T) {
	if got := faultOf(errHedged); got != "canceled" {
		t.Error(got)
	}
}

// An expert that failed may work again soon, though a budget has no room for the other one until its period ends.
func TestFailureBeforeAFullBudget(t *testing.T) {
	w := newWorld(t, budgeted(budget.Budget{Name: "large", Tokens: 10, Per: ledger.Month, Of: budget.Expert, Only: []string{"large"}, AtEnd: budget.Refuse}))
	w.small.SetFault(fault(500))
	a := w.post(t, question+`}`)
	if a.status != 502 || a.header.Get("Retry-After") != "" || !strings.Contains(a.body, "small: HTTP 500") || !strings.Contains(a.body, "the budget large:large has no tokens left") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// A second call that a settled race, a failure or the caller's leaving ends holds nothing of a budget, and each call was charged once.
func TestHedgesSettleBudgets(t *testing.T) {
	w := hedgedWith(t, budgeted(budget.Budget{Name: "all", Tokens: 1e9, Per: ledger.Month, Of: budget.Total}))
	for name, c := range map[string]struct {
		small, large func(int, http.ResponseWriter, *http.Request) bool
		min, max     float64
	}{
		"the second wins": {after(10*time.Second, nil), nil, 1200, 1900}, // the most of the first, and what the second used
		"the first wins":  {after(200*time.Millisecond, nil), after(10*time.Second, nil), 1200, 1900},
		"both fail":       {after(200*time.Millisecond, fault(500)), fault(503), 0, 0},
		"the first fails": {after(200*time.Millisecond, fault(500)), after(300*time.Millisecond, nil), 1100, 1100},
	} {
		for _, end := range []string{`}`, `,"stream":true}`} {
			w.small.SetFault(c.small)
			w.large.SetFault(c.large)
			before := w.state(t)
			w.post(t, question+end)
			if s := w.state(t); s.Held != 0 || s.Spent-before.Spent < c.min || s.Spent-before.Spent > c.max {
				t.Errorf("%s, %s: %v spent, %v held", name, end, s.Spent-before.Spent, s.Held)
			}
		}
	}
	w.small.SetFault(after(10*time.Second, nil))
	w.large.SetFault(after(10*time.Second, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/v1/chat/completions", strings.NewReader(question+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := w.Client().Do(r); err == nil {
		response.Body.Close()
		t.Error("an answer")
	}
	for range 100 {
		if w.state(t).Held == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%+v", w.state(t))
}

// A reload keeps conversations, what budgets have spent, and what is known of times; it takes new prices.
func TestReloadOfAllParts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	write := func(in string) {
		if err := os.WriteFile(file, []byte("currency: USD\nmodels: {model-s: [{in: "+in+", cached: 0.1, out: 10}], model-l: [{in: "+in+", cached: 0.1, out: 10}]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	var settings Settings
	w := newSessions(t, steep, time.Hour, func(s *Settings) {
		budgeted(budget.Budget{Name: "all", Money: 1000, Per: ledger.Month, Of: budget.Total})(s)
		s.Budgets.Folder = t.TempDir()
		p := patience.DefaultSettings()
		p.File = config.Path(filepath.Join(t.TempDir(), "times.json"))
		loss := 0.001
		s.Patience, s.Hedge, s.Latency = &p, &patience.Hedge{After: 0.95, Share: 0.5}, &patience.Latency{Policies: map[string]patience.Lateness{"priced": {Loss: &loss, Deadline: time.Minute}}}
		for name, e := range s.Experts {
			e.Price, e.Prices = nil, config.Path(file)
			s.Experts[name] = e
		}
		settings = *s
		settings.Budgets.Folder = "" // as it is read
	})
	d := begin(1)
	first := d.ask(t, w, "hard")
	spent := w.state(t).Spent
	write("2")
	for range 2 {
		if err := w.api.Reload(settings, func([]string) {}); err != nil {
			t.Fatal(err)
		}
	}
	if s := w.state(t); s.Spent != spent || spent == 0 {
		t.Errorf("%v spent, %v before", s.Spent, spent)
	}
	if e := d.ask(t, w, "hard"); e != first {
		t.Error(e)
	}
	known := 0
	for _, s := range w.api.Patience() {
		if s.Answers > 0 {
			known++
		}
	}
	list := w.records(t)
	if known != 1 || list[1].Turn != 2 || list[1].Session != list[0].Session || list[0].Session == "" {
		t.Errorf("%d experts whose times are known, %+v", known, list[1])
	}
	if now := w.state(t).Spent - spent; math.Abs(now-list[1].Fee) > 1e-9 || !list[1].FeeKnown {
		t.Errorf("%v spent, fee %v", now, list[1].Fee)
	}
	for name, change := range map[string]func(s *Settings){
		"budgets: they change":  func(s *Settings) { s.Budgets.List = nil },
		"sessions: only header": func(s *Settings) { s.Sessions.On = false },
		"patience: file":        func(s *Settings) { p := *s.Patience; p.File = "other"; s.Patience = &p },
	} {
		s := settings
		change(&s)
		if err := w.api.Reload(s, func([]string) { t.Error("it was used") }); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write("3, out: 1") // a mistake
	if err := w.api.Reload(settings, func([]string) { t.Error("it was used") }); err == nil {
		t.Error("no error")
	}
}

// A second call that no budget has room for leaves the share of second calls as it was.
func TestHedgeWithoutRoom(t *testing.T) {
	w := hedgedWith(t, func(s *Settings) {
		budgeted(budget.Budget{Name: "large", Tokens: 10, Per: ledger.Month, Of: budget.Expert, Only: []string{"large"}, AtEnd: budget.Refuse})(s)
	})
	saved := func() float64 {
		w.api.hedges.mu.Lock()
		defer w.api.hedges.mu.Unlock()
		return w.api.hedges.saved
	}
	before := saved()
	w.small.SetFault(after(200*time.Millisecond, nil))
	if a := w.post(t, question+`}`); a.status != 200 || a.header.Get(headerExpert) != "small" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := saved(); got < before {
		t.Errorf("%g second calls may be made, %g before", got, before)
	}
}
