package gateway

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/serve/access"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/ledger"
)

// budgeted adds budgets to settings, and a limit of answers to the experts, without which no call has a bound.
func budgeted(list ...budget.Budget) func(*Settings) {
	return func(s *Settings) {
		s.Budgets.List = list
		for name, e := range s.Experts {
			e.Fields = map[string]any{"max_tokens": 100}
			s.Experts[name] = e
		}
	}
}

// state is the state of the only budget.
func (w *world) state(t *testing.T) budget.State {
	t.Helper()
	list := w.api.Budgets()
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	return list[0]
}

// A budget is charged with what a call was billed, and it refuses a call that could cost more than is left, by policy and by name.
func TestBudgetStops(t *testing.T) {
	const fee = 0.002 // 600 + 400 tokens of the prompt at 1 and 100 of the answer at 10, per million
	w := newWorld(t, budgeted(budget.Budget{Name: "all", Money: 0.0095, Per: ledger.Month, Of: budget.Total}))
	for i := range 4 {
		if out := w.post(t, question+`}`); out.status != 200 {
			t.Fatalf("%d: %d %s", i, out.status, out.body)
		}
		if s := w.state(t); math.Abs(s.Spent-fee*float64(i+1)) > 1e-12 || s.Held != 0 {
			t.Errorf("%d: %+v", i, s)
		}
	}
	out := w.post(t, `{"model":"large","max_tokens":1000,"messages":[{"role":"user","content":"x"}]}`)
	if out.status != 429 || out.header.Get("Retry-After") == "" || !strings.Contains(out.body, "the budget all has no money left in this month") || !strings.Contains(out.body, `"insufficient_quota"`) {
		t.Errorf("by name: %d %v %s", out.status, out.header, out.body)
	}
	out = w.post(t, question+`,"max_completion_tokens":200}`)
	if out.status != 429 || !strings.Contains(out.body, "no money left") {
		t.Errorf("by a policy: %d %s", out.status, out.body)
	}
	if n := len(w.small.Requests()) + len(w.large.Requests()); n != 4 {
		t.Errorf("%d calls", n)
	}
	for i, rec := range w.records(t) {
		if rec.Budgets != "all" {
			t.Errorf("%d: budgets %q, prices %v", i, rec.Budgets, rec.BudgetPrices)
		}
	}
}

// The cheapest pair answers while it is the only one that the budget covers; a budget that refuses does not take it.
func TestBudgetAtEnd(t *testing.T) {
	free, dear := 0.0, 100.0
	for _, end := range []budget.AtEnd{budget.Cheapest, budget.Refuse} {
		w := newWorld(t, func(s *Settings) {
			budgeted(budget.Budget{Name: "all", Money: 0.02, Per: ledger.Month, Of: budget.Total, AtEnd: end})(s)
			small, large := s.Experts["small"], s.Experts["large"]
			small.Price = &expert.Price{In: &dear, Cached: &dear, Out: &dear}
			large.Price = &expert.Price{In: &free, Cached: &free, Out: &free}
			s.Experts["small"], s.Experts["large"] = small, large
		})
		out := w.post(t, question+`}`)
		if end == budget.Refuse {
			if out.status != 429 || len(w.small.Requests())+len(w.large.Requests()) > 0 {
				t.Errorf("refuse: %d %s", out.status, out.body)
			}
			if rec := w.records(t)[0]; rec.Executed >= 0 || len(rec.Attempts) != 1 || !strings.Contains(rec.Attempts[0].Error, "budget all") {
				t.Errorf("%+v", rec)
			}
			continue
		}
		if out.status != 200 || out.header.Get(headerExpert) != "large" {
			t.Errorf("cheapest: %d %v %s", out.status, out.header, out.body)
		}
		if rec := w.records(t)[0]; !rec.BudgetDecided || rec.Available[0] || !rec.Available[2] || rec.Budgets != "all" {
			t.Errorf("%+v", rec)
		}
	}
}

// Calls whose use is not known count as the most that they could use; refused ones, and those that came to no service, as nothing.
func TestBudgetOfFailures(t *testing.T) {
	w := newWorld(t, budgeted(budget.Budget{Name: "all", Tokens: 1e6, Per: ledger.Day, Of: budget.Total}))
	ask := func() float64 {
		before := w.state(t).Spent
		w.post(t, `{"model":"small","messages":[{"role":"user","content":"x"}]}`)
		return w.state(t).Spent - before
	}
	const most = 185 // about the bytes of the request as it is sent
	for name, c := range map[string]struct {
		fault    func(http.ResponseWriter)
		min, max float64
	}{
		"an answer":     {nil, 1100, 1100},
		"no usage":      {func(w http.ResponseWriter) { w.Write([]byte(`{"choices":[{"message":{"content":"a"}}]}`)) }, 150, most},
		"an error":      {func(w http.ResponseWriter) { http.Error(w, "{}", 500) }, 0, 0},
		"a refusal":     {func(w http.ResponseWriter) { http.Error(w, "{}", 400) }, 0, 0},
		"a broken text": {func(w http.ResponseWriter) { w.Write([]byte(`{"choi`)) }, 150, most},
		"an empty text": {func(http.ResponseWriter) {}, 150, most},
		"a usage of 7+5": {func(w http.ResponseWriter) {
			w.Write([]byte(`{"error":{"message":"m"},"usage":{"prompt_tokens":7,"completion_tokens":5}}`))
		}, 12, 12},
	} {
		w.small.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
			if c.fault != nil {
				c.fault(rw)
			}
			return c.fault != nil
		})
		if got := ask(); got < c.min || got > c.max {
			t.Errorf("%s: %v tokens, not from %v to %v", name, got, c.min, c.max)
		}
	}
	if s := w.state(t); s.Held != 0 {
		t.Errorf("%+v", s)
	}
}

// Budgets of keys, policies and experts have a member for each name. A key sees its own budgets, an administrator all of them.
func TestBudgetMembers(t *testing.T) {
	w := newWorld(t, budgeted(
		budget.Budget{Name: "key", Money: 1, Per: ledger.Day, Of: budget.Key},
		budget.Budget{Name: "policy", Money: 1, Per: ledger.Day, Of: budget.Policy, Only: []string{"claims", "other"}},
		budget.Budget{Name: "rate", Tokens: 5000, Per: ledger.Minute, Of: budget.Expert, Only: []string{"small"}},
	))
	names := func(c *access.Caller) (all []string, spent float64) {
		r, rw := newRequest(t, c)
		w.api.serveBudgets(rw, r)
		var got struct{ Budgets []budget.State }
		if err := json.Unmarshal(rw.Body.Bytes(), &got); err != nil {
			t.Fatal(err, rw.Body.String())
		}
		for _, s := range got.Budgets {
			all, spent = append(all, s.Name+":"+s.Member), spent+s.Spent
		}
		return all, spent
	}
	if out := w.post(t, question+`}`); out.status != 200 {
		t.Fatal(out.body)
	}
	if got, _ := names(&access.Caller{Name: "alice"}); strings.Join(got, " ") != "key:alice" {
		t.Errorf("alice sees %v", got)
	}
	got, spent := names(&access.Caller{Admin: true})
	if strings.Join(got, " ") != "key:alice key:anybody policy:claims policy:other rate:small" || math.Abs(spent-(0.002+0.002+1100)) > 1e-9 {
		t.Errorf("%v, %v", got, spent)
	}
	if out := w.post(t, `{"model":"large","messages":[{"role":"user","content":"x"}]}`); out.status != 200 {
		t.Error(out.body)
	}
	if got, after := names(&access.Caller{Admin: true}); math.Abs(after-spent-0.002) > 1e-9 {
		t.Errorf("by name: %v, %v", got, after-spent)
	}
}

// Experts without a bound, and limits of requests that are none, are named.
func TestBudgetRefusals(t *testing.T) {
	one := budget.Budget{Name: "all", Money: 1, Per: ledger.Day, Of: budget.Total}
	price := 1.0
	for want, change := range map[string]func(*expert.Settings){
		`budgets: all: the most that a call of the expert "small" can cost is not known: nothing bounds its answers`: func(e *expert.Settings) { e.Fields = nil },
		`"small" can cost is not known: it has no price of prompts and answers`:                                      func(e *expert.Settings) { e.Price = nil },
		`"small" can cost is not known: it has no price of prompts`:                                                  func(e *expert.Settings) { e.Price = &expert.Price{In: &price} },
	} {
		w := newWorld(t, nil)
		s := w.settings()
		budgeted(one)(&s)
		e := s.Experts["small"]
		change(&e)
		s.Experts["small"] = e
		if err := Try(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	w := newWorld(t, budgeted(one))
	for _, value := range []string{"0", "-1", `"9"`, "null", "1e300", "1.5"} {
		out := w.post(t, question+`,"max_tokens":`+value+`}`)
		if out.status != 400 || !strings.Contains(out.body, `"param":"max_tokens"`) || !strings.Contains(out.body, "because a budget") {
			t.Errorf("%s: %d %s", value, out.status, out.body)
		}
	}
	s := w.settings()
	budgeted(one)(&s)
	s.Budgets.List[0].Money = 2
	if err := w.api.Reload(s, func([]string) {}); err == nil || !strings.Contains(err.Error(), "budgets") {
		t.Errorf("other budgets were loaded: %v", err)
	}
}

// Without budgets the experts get the same bytes, callers the same answers, and records the same lines.
func TestNoBudgets(t *testing.T) {
	plain, with := newWorld(t, nil), newWorld(t, budgeted(budget.Budget{Name: "all", Money: 1, Per: ledger.Day, Of: budget.Total}))
	body := question + `,"max_tokens":100}`
	a, b := plain.post(t, body), with.post(t, body)
	if a.body != b.body || a.status != b.status {
		t.Errorf("%s\n%s", a.body, b.body)
	}
	x, y := plain.small.Requests()[0], with.small.Requests()[0]
	if string(x.Body) != string(y.Body) {
		t.Errorf("%s\n%s", x.Body, y.Body)
	}
	if rec := plain.records(t)[0]; rec.Budgets != "" || rec.BudgetPrices != nil || rec.BudgetDecided || rec.PairFees != nil {
		t.Errorf("%+v", rec)
	}
	r, rw := newRequest(t, &access.Caller{})
	if plain.api.serveBudgets(rw, r); rw.Code != 404 || !strings.Contains(rw.Body.String(), "no_budgets") {
		t.Errorf("%d %s", rw.Code, rw.Body)
	}
}

// writePriced writes an any-price policy, priced, without a margin. A loss of 1 is worth a cent. The large expert is the best without
// prices.
func writePriced(t testing.TB, folder string, caution []float64) {
	t.Helper()
	writeAnyPrice(t, folder, "priced", func(p *policy.Policy) {
		p.Info, p.Estimate.Margin, p.Estimate.Caution = worthOfLoss(0.01), 0, caution
		expect(p, 0.4, 0.35, 0.1, 0.15)
	})
}

// The price of a budget rises while it would not last, so that cheaper pairs are chosen before it has no room; the records have the
// price and say that it decided. A pair of which the policy knows too little to choose it does not change that.
func TestBudgetPaces(t *testing.T) {
	cheap := 0.01
	for name, caution := range map[string][]float64{"all are known": nil, "one is not": {0, math.Inf(1), 0, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, nil, func(s *Settings) {
				budgeted(budget.Budget{Name: "all", Money: 10, Per: ledger.Day, Of: budget.Total}, budget.Budget{Name: "large", Tokens: 1e9, Per: ledger.Month, Of: budget.Expert})(s)
				e := s.Experts["small"]
				e.Price = &expert.Price{In: &cheap, Cached: &cheap, Out: &cheap}
				s.Experts["small"] = e
			}, func(folder string, _ *decision.Settings) { writePriced(t, folder, caution) })
			body := strings.Replace(question, `"pipe"`, `"pipe/priced"`, 1) + `}`
			for i := range 64 {
				if out := w.post(t, body); out.status != 200 {
					t.Fatalf("%d: %s", i, out.body)
				}
			}
			all := w.records(t)
			first, last := all[0], all[len(all)-1]
			if first.Action != 2 || first.BudgetPrices != nil || first.BudgetDecided || first.Budgets != "all large:large large:small" {
				t.Errorf("first: %+v", first)
			}
			if len(last.BudgetPrices) < 1 || !(last.BudgetPrices[0] > 0) || last.PairFees == nil {
				t.Errorf("last: %+v", last)
			}
			spared := 0 // the price stays where both are about as good, so single decisions of the last ones may be either
			for _, rec := range all[len(all)/2:] {
				if rec.BudgetDecided != (rec.Action < 2) {
					t.Errorf("the budget decided is not said: %+v", rec)
				}
				if rec.Action < 2 {
					spared++
				}
			}
			if spared < len(all)/8 {
				t.Errorf("%d of the last %d went to the small expert", spared, len(all)/2)
			}
			if s := w.api.Budgets()[0]; !(s.Price > 0) || s.Price > 100 || s.Spent > 1 || s.Due < 1000 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// newRequest is a request of a caller.
func newRequest(t *testing.T, c *access.Caller) (*http.Request, *httptest.ResponseRecorder) {
	r := httptest.NewRequestWithContext(access.With(t.Context(), c), http.MethodGet, "/v1/budgets", nil)
	return r, httptest.NewRecorder()
}
