package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/pipeline/decisionlog"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/patience"
	"pipe/serve/ledger"
)

// hedged is a world that has learned that small answers at once, and may ask a second pair for half of the requests.
func hedged(t *testing.T) *world { return hedgedWith(t, func(*Settings) {}) }

// hedgedWith is hedged with other settings.
func hedgedWith(t *testing.T, change func(*Settings)) *world {
	w := newWorld(t, func(s *Settings) {
		defer change(s)
		allowHedges(s)
	})
	for range 100 {
		for _, end := range []string{`}`, `,"stream":true}`} {
			if a := w.post(t, question+end); a.header.Get("X-Pipe-Expert") != "small" {
				t.Fatalf("%d by %s", a.status, a.header.Get("X-Pipe-Expert"))
			}
		}
	}
	return w
}

// allowHedges lets half of the requests ask a second pair.
func allowHedges(s *Settings) {
	s.Hedge = &patience.Hedge{After: 0.95, Share: 0.5}
	for name, e := range s.Experts {
		e.Timeouts = expert.DefaultSettings().Timeouts
		s.Experts[name] = e
	}
}

// after answers after a time, or as its client leaves.
func after(d time.Duration, fault func(int, http.ResponseWriter, *http.Request) bool) func(int, http.ResponseWriter, *http.Request) bool {
	return func(n int, rw http.ResponseWriter, r *http.Request) bool {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return true
		}
		return fault != nil && fault(n, rw, r)
	}
}

// The first answer with content wins, of a stream and of a whole answer. Both calls are charged and logged.
func TestHedge(t *testing.T) {
	const never = 10 * time.Second
	for name, c := range map[string]struct {
		small, large func(int, http.ResponseWriter, *http.Request) bool
		by, before   string
		attempts     []string // pair, status and error
		counted      string
	}{
		"the second wins": {after(never, nil), nil, "large", "", []string{
			"1 0 hedge: cancelled, because large/search answered first; charged: an estimate of its prompt", "3 200 ",
		}, "won"},
		"the first wins": {after(200*time.Millisecond, nil), after(never, nil), "small", "", []string{
			"3 0 hedge: a second call, cancelled, because small/search answered first; charged: an estimate of its prompt", "1 200 ",
		}, "lost"},
		"the first fails late": {after(100*time.Millisecond, fault(500)), after(300*time.Millisecond, nil), "large", "1", []string{"1 500 small: HTTP 500 Internal Server Error", "3 200 "}, "won"},
		"the second fails":     {after(300*time.Millisecond, nil), fault(500), "small", "1", []string{"3 500 large: HTTP 500 Internal Server Error", "1 200 "}, "lost"},
		"both fail":            {after(200*time.Millisecond, fault(500)), fault(503), "", "", []string{"3 503 large: HTTP 503 Service Unavailable", "1 500 small: HTTP 500 Internal Server Error"}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hedged(t)
			before := len(w.large.Requests())
			w.small.SetFault(c.small)
			w.large.SetFault(c.large)
			for i, end := range []string{`}`, `,"stream":true}`} {
				if i == 1 && c.by == "" {
					break // the breakers have counted a failure
				}
				began := time.Now()
				a := w.post(t, question+end)
				if a.header.Get("X-Pipe-Expert") != c.by || a.header.Get("X-Pipe-Fallbacks") != c.before || time.Since(began) > 5*time.Second {
					t.Errorf("%d by %q after %q in %v: %s", a.status, a.header.Get("X-Pipe-Expert"), a.header.Get("X-Pipe-Fallbacks"), time.Since(began), a.body)
				}
				if n := len(w.large.Requests()) - before; n != i+1 {
					t.Errorf("large got %d requests", n)
				}
				if n := hedgeCount(t, w, c.counted); n != float64(i+1) {
					t.Errorf("%s: %g", c.counted, n)
				}
			}
			for _, rec := range w.records(t)[200:] {
				var got []string
				for _, at := range rec.Attempts {
					got = append(got, fmt.Sprintf("%d %d %s", at.Action, at.Status, at.Error))
				}
				if strings.Join(got, "\n") != strings.Join(c.attempts, "\n") || callTime(rec) > 5*time.Second {
					t.Errorf("%q, %v", got, callTime(rec))
				}
			}
		})
	}
}

// hedgeCount is the metric of second calls after small with a result.
func hedgeCount(t *testing.T, w *world, result string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); f.GetName() == "pipe_hedges_total" && l[0].GetValue() == "small" && l[1].GetValue() == result {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// callTime is the time of the call that answered, as it is read from a record.
func callTime(r *decisionlog.Record) time.Duration {
	micros := r.Stages.Expert
	for _, a := range r.Attempts[:len(r.Attempts)-1] {
		micros -= a.Micros
	}
	return time.Duration(micros) * time.Microsecond
}

// The caller is charged for both calls: for the usage of the answer, and for an estimate of the prompt that was cancelled.
func TestBothCallsAreCharged(t *testing.T) {
	w := hedged(t)
	w.small.SetFault(after(10*time.Second, nil))
	_, spent := w.ask(t, question+`}`)
	if tokens := int64(1100 + len(question+`}`)/bytesPerToken); spent.Tokens != tokens {
		t.Errorf("spent %+v, want %d tokens", spent, tokens)
	}
}

// The first answer does not wait for the advice of the second pair, and the advice has not failed.
func TestHedgeWaitsForNoAdvice(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		a := s.Advice["search"]
		a.Timeout = 5 * time.Second
		s.Advice["search"] = a
	})
	chosen := &routed{chat: &chat{api: w.api, backends: w.api.current}, fetched: map[int]fetchedAdvice{}, record: &decisionlog.Record{}}
	p, err := w.decider.Policies().Acquire("claims")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	chosen.actions, chosen.result = p.Info().Actions, &decision.Result{Policy: p}
	found := w.found
	var answers atomic.Bool
	w.found = func(rw http.ResponseWriter, r *http.Request) {
		if answers.Load() {
			found(rw, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // else nobody sees that the client left
		<-r.Context().Done()
	}
	first := running{result: make(chan asked, 1)}
	time.AfterFunc(50*time.Millisecond, func() { first.result <- asked{} })
	began := time.Now()
	if _, err := chosen.fetchUnless(t.Context(), 3, first); err == nil || time.Since(began) > 2*time.Second || len(first.result) != 1 || len(chosen.fetched) != 0 {
		t.Errorf("%v after %v, %d results, fetched %v", err, time.Since(began), len(first.result), chosen.fetched)
	}
	answers.Store(true)
	<-first.result
	if m, err := chosen.fetchUnless(t.Context(), 3, first); err != nil || m == nil {
		t.Error(m, err)
	}
}

// panicking is a context that panics in one of the two calls of a request, after a time.
type panicking struct {
	context.Context
	call  int // 1 or 2
	after time.Duration

	mu    sync.Mutex
	calls []string // their goroutines, in the order in which they started
}

func (p *panicking) Value(key any) any {
	if stack := string(debug.Stack()); strings.Contains(stack, "(*routed).start.func") {
		routine, _, _ := strings.Cut(stack, " [")
		p.mu.Lock()
		if !slices.Contains(p.calls, routine) {
			p.calls = append(p.calls, routine)
		}
		call := slices.Index(p.calls, routine) + 1
		p.mu.Unlock()
		if call == p.call {
			time.Sleep(p.after)
			panic("a fault of the program")
		}
	}
	return p.Context.Value(key)
}

// A panic in one of two calls ends the request and not the server, and holds nothing of a budget: of a call alone, before the other
// one answers, and after it has.
func TestPanicInHedgedCall(t *testing.T) {
	w := hedgedWith(t, budgeted(budget.Budget{Name: "all", Tokens: 1e9, Per: ledger.Month, Of: budget.Total}))
	for name, c := range map[string]struct {
		call  int
		after time.Duration // until the panic
		small time.Duration // until the first call answers
	}{
		"the only call":              {1, 0, 0},
		"the first, the second runs": {1, 300 * time.Millisecond, 0},
		"the second, the first runs": {2, 0, 10 * time.Second},
		"the loser":                  {2, 600 * time.Millisecond, 300 * time.Millisecond},
	} {
		for _, end := range []string{`}`, `,"stream":true}`} {
			w.small.SetFault(after(c.small, nil))
			if c.call == 1 {
				w.large.SetFault(after(10*time.Second, nil))
			} else {
				w.large.SetFault(nil)
			}
			before := w.state(t)
			ctx := &panicking{Context: t.Context(), call: c.call, after: c.after}
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(question+end))
			func() {
				defer func() {
					if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "a fault of the program, in a call of the expert ") || !strings.Contains(p, "(*panicking).Value") {
						t.Errorf("%s, %s: panic %s", name, end, p)
					}
				}()
				w.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
			}()
			if s := w.state(t); s.Held != 0 || !(s.Spent > before.Spent) || c.after+c.small > 0 != (len(ctx.calls) == 2) {
				t.Errorf("%s, %s: %v spent, %v held, %d calls", name, end, s.Spent-before.Spent, s.Held, len(ctx.calls))
			}
		}
	}
}

// No second pair is asked inside a loop of tools, nor before the times are known, nor for more than the share.
func TestWhenNotToHedge(t *testing.T) {
	w := hedged(t)
	w.small.SetFault(after(100*time.Millisecond, nil))
	tools := `{"model":"pipe","messages":[{"role":"user","content":"Is oil good?"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]}`
	if a := w.post(t, tools); a.header.Get("X-Pipe-Expert") != "small" {
		t.Errorf("%d by %s", a.status, a.header.Get("X-Pipe-Expert"))
	}
	long := strings.Replace(question, "Is oil good?", strings.Repeat("Is oil good? ", 2000), 1)
	if a := w.post(t, long+`}`); a.header.Get("X-Pipe-Expert") != "small" {
		t.Errorf("%d by %s", a.status, a.header.Get("X-Pipe-Expert"))
	}
	if n := len(w.large.Requests()); n != 0 {
		t.Errorf("large got %d requests", n)
	}
	w.api.hedges.saved = 0
	for range 4 {
		w.post(t, question+`}`)
	}
	if n := len(w.large.Requests()); n != 2 {
		t.Errorf("large got %d of 4 requests, the share is a half", n)
	}
	if n := hedgeCount(t, w, "share"); n != 2 {
		t.Errorf("%g without a share", n)
	}
}
