package gateway

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pipe/serve/budget"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/gatewaytest"
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
