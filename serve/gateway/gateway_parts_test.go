package gateway

import (
	"bytes"
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
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/patience"
	"pipe/serve/ledger"
)

// A pair that lacks the effort of its advice, and that the caller's effort contradicts too, is left out once.
func TestPairIsLeftOutForTwoReasons(t *testing.T) {
	w := effortWorld(t, func(s *Settings, a *advice.Settings) {
		a.Effort = "high"
		small := s.Experts["small"]
		small.Efforts = []string{"low"}
		s.Experts["small"] = small
	})
	if a := w.post(t, question+`,"reasoning_effort":"low"}`); a.status != 200 || a.header.Get(headerExpert) != "large" || a.header.Get(headerAdvice) != "none" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// Where a pair under a contradicted advice is all that is left, it answers, and the caller's effort is sent.
func TestContradictedPairIsTheLast(t *testing.T) {
	const own = `,"reasoning_effort":"low"}`
	for name, header := range map[string][]string{
		"the caller excludes the others": {"X-Pipe-Without", "expert=large,pair=small/none"},
		"the other expert is broken":     {"X-Pipe-Without", "pair=small/none"},
	} {
		w := effortWorld(t, func(s *Settings, a *advice.Settings) {
			a.Effort = "high"
			s.Breaker.Failures, s.Breaker.Open = 1, time.Hour
		})
		if strings.Contains(name, "broken") {
			w.large.SetFault(fault(500))
			w.post(t, `{"model":"large","messages":[{"role":"user","content":"x"}]}`)
		}
		a := w.post(t, question+own, header...)
		if a.status != 200 || a.header.Get(headerExpert) != "small" || a.header.Get(headerAdvice) != "search" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
			continue
		}
		if got := string(w.small.Requests()[0].Body); got != strings.Replace(question, "pipe", "model-s", 1)+own {
			t.Errorf("%s: sent %s", name, got)
		}
	}
}

// While tool calls are open, another expert answers where nothing is left of the one that called: its pairs are excluded, or a budget
// does not cover it.
func TestToolLoopOfAnExpertThatIsLeftOut(t *testing.T) {
	const tools = `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	ask := func(t *testing.T, w *world, d *dialogue, header ...string) string {
		d.messages = append(d.messages, tools, `{"role":"tool","tool_call_id":"t1","content":"r"}`)
		return d.send(t, w, header...)
	}
	first := func(t *testing.T, w *world) *dialogue {
		d := begin(1)
		d.messages = append(d.messages, `{"role":"user","content":"hard"}`)
		if e := d.send(t, w); e != "large" {
			t.Fatal(e)
		}
		return d
	}
	t.Run("excluded pairs", func(t *testing.T) {
		w := newSessions(t, steep, time.Hour, nil)
		d := first(t, w)
		if e := ask(t, w, d, "X-Pipe-Without", "pair=large/none,pair=large/search"); e != "small" {
			t.Error(e)
		}
		if r := w.records(t)[1]; r.Kept != "" || !r.Available[0] || r.Available[2] {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a budget", func(t *testing.T) {
		w := newSessions(t, steep, time.Hour, budgeted(budget.Budget{Name: "dear", Money: 0.2, Per: ledger.Month, Of: budget.Expert, Only: []string{"large"}}))
		d := first(t, w)
		if e := ask(t, w, d); e != "small" {
			t.Error(e)
		}
		if r := w.records(t)[1]; r.Kept != "" || !r.BudgetDecided || !r.Available[0] || r.Available[2] {
			t.Errorf("%+v", r)
		}
	})
}

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
		s.Panel = panelOf(t, 1, panelAll)
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

// TestEffortOfEveryKind: a caller of chat completions, and experts of other kinds: the effort of the advice is in the place of the
// service's protocol, and what the caller asks for itself is not overwritten.
func TestEffortOfEveryKind(t *testing.T) {
	for kind, c := range map[string]struct {
		high string // in the request
		own  string // the caller's effort low
	}{
		"anthropic": {`"output_config":{"effort":"high"}`, `"budget_tokens":2048`},
		"responses": {`"reasoning":{"effort":"high"}`, `"reasoning":{"effort":"low"}`},
		"gemini":    {`"thinkingLevel":"high"`, `"thinkingBudget":1024`},
		"ollama":    {`"think":"high"`, `"think":"low"`},
	} {
		t.Run(kind, func(t *testing.T) {
			fake := gatewaytest.NewFake(t, kind)
			var sent []string
			service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent = append(sent, string(body))
				r.Body = io.NopCloser(bytes.NewReader(body))
				fake.ServeHTTP(rw, r)
			}))
			defer service.Close()
			w := effortWorld(t, func(s *Settings, a *advice.Settings) {
				a.Effort = "high"
				for name, e := range s.Experts {
					e.Kind, e.BaseURL, e.Served = kind, service.URL+strings.TrimPrefix(fake.Base(), fake.URL), []string{"*"}
					s.Experts[name] = e
				}
			})
			ask := func(end, advice string, header ...string) string {
				t.Helper()
				a := w.post(t, asking+end+`}`, header...)
				if a.status != 200 || a.header.Get(headerAdvice) != advice {
					t.Fatalf("%d %v %s", a.status, a.header, a.body)
				}
				return sent[len(sent)-1]
			}
			if sent := ask("", "search"); !strings.Contains(sent, c.high) {
				t.Errorf("sent %s", sent)
			}
			if sent := ask(`,"reasoning_effort":"high"`, "search"); !strings.Contains(sent, c.high) {
				t.Errorf("the same effort: %s", sent)
			}
			if sent := ask(`,"reasoning_effort":"low"`, "none"); strings.Contains(sent, `"high"`) || !strings.Contains(sent, c.own) {
				t.Errorf("another effort: %s", sent)
			}
			if sent := ask(`,"reasoning_effort":"low"`, "search", "X-Pipe-Without", "pair=small/none,pair=large/none"); strings.Contains(sent, `"high"`) || !strings.Contains(sent, c.own) {
				t.Errorf("another effort and no other pair: %s", sent)
			}
			if rec := w.records(t)[2]; rec.Propensity[1] != 0 || rec.Propensity[3] != 0 {
				t.Errorf("%+v", rec)
			}
		})
	}
}

// A caller's own limit of reasoning contradicts an effort, where another protocol writes the one as the other.
func TestLimitOfReasoningContradicts(t *testing.T) {
	w := effortWorld(t, high)
	a := w.postTo(t, "/v1/messages", `{"model":"pipe","max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Is oil good?"}]}`)
	if a.status != 200 || a.header.Get(headerAdvice) != "none" || strings.Contains(string(w.large.Requests()[0].Body), `"high"`) {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
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

// An expert that has lost the response from which a conversation goes on is replaced by one of another kind, which gets it whole.
func TestLostResponse(t *testing.T) {
	service := gatewaytest.NewScripted(t, gatewaytest.Script{Model: "model-s", Text: "It is a test."})
	w := newWorld(t, func(s *Settings) {
		delete(s.Advice, "search")
		s.Sessions.On = true
		large := s.Experts["large"]
		large.Kind, large.BaseURL = "responses", service.URL+"/v1"
		s.Experts["large"] = large
	})
	first := w.postTo(t, "/v1/responses", `{"model":"pipe","input":"One?"}`)
	id := responseID(t, first, false)
	if first.header.Get(headerExpert) != "large" {
		t.Fatalf("%d %v %s", first.status, first.header, first.body)
	}
	service.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":{"message":"Previous response with id '`+id+`' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`)
		return true
	})
	a := w.postTo(t, "/v1/responses", `{"model":"pipe","previous_response_id":"`+id+`","input":"Two?"}`)
	if a.status != 200 || a.header.Get(headerExpert) != "small" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	if sent := string(w.small.Requests()[0].Body); !strings.Contains(sent, "One?") || !strings.Contains(sent, "It is a test.") || !strings.Contains(sent, "Two?") || strings.Contains(sent, id) {
		t.Errorf("sent %s", sent)
	}
	if r := w.records(t)[1]; r.Turn != 2 || r.Session == "" {
		t.Errorf("%+v", r)
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

// What the caller excludes does not answer either where the expert fails whose tool calls are open.
func TestToolLoopKeepsExclusions(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	d := begin(1)
	d.messages = append(d.messages, `{"role":"user","content":"hard"}`)
	if e := d.send(t, w); e != "large" {
		t.Fatal(e)
	}
	w.large.SetFault(fault(500))
	d.messages = append(d.messages, `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"t1","content":"r"}`)
	if e := d.send(t, w, "X-Pipe-Without", "pair=small/none"); e != "small" {
		t.Error(e)
	}
	if r := w.records(t)[1]; r.Action/2 != 1 || r.Executed != 1 {
		t.Errorf("%+v", r)
	}
}
