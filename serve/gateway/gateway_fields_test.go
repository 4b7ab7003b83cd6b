package gateway

import (
	"net/http"
	"strings"
	"testing"

	"pipe/experts/fields"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
)

// effortWorld is a world whose advice search sets fields.
func effortWorld(t *testing.T, change func(s *Settings, a *advice.Settings)) *world {
	return newWorld(t, func(s *Settings) {
		a := advice.DefaultSettings()
		a.Kind = advice.KindFields
		change(s, &a)
		s.Advice["search"] = a
	})
}

func high(_ *Settings, a *advice.Settings) { a.Effort = "high" }

// TestEffortIsSent: the fields of the advice are in the request to the expert, and nothing else of it is changed; what the caller
// sets is kept. The record has the pair, the usage and the fee of the answer.
func TestEffortIsSent(t *testing.T) {
	w := effortWorld(t, func(s *Settings, a *advice.Settings) {
		a.Effort, a.Fields = "high", map[string]fields.Fields{fields.OpenAI: {"max_completion_tokens": 4000}}
		small := s.Experts["small"]
		small.Fields = map[string]any{"max_tokens": 9, "temperature": 0}
		s.Experts["small"] = small
	})
	a := w.post(t, question+`}`)
	if a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get("X-Pipe-Advice") != "search" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	want := strings.Replace(question, "pipe", "model-s", 1) + `,"max_completion_tokens":4000,"reasoning_effort":"high","temperature":0}`
	if got := string(w.small.Requests()[0].Body); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	own := `,"reasoning_effort":"high","max_completion_tokens":4000,"temperature":1}`
	if a := w.post(t, question+own); a.status != 200 || a.header.Get("X-Pipe-Advice") != "search" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	if got := string(w.small.Requests()[1].Body); got != strings.Replace(question, "pipe", "model-s", 1)+own {
		t.Errorf("the caller's own fields: %s", got)
	}
	if rec := w.records(t)[0]; rec.Action != 1 || rec.Executed != 1 || !rec.FeeKnown || rec.Usage.Out != 100 || rec.Stages.Advise < 0 {
		t.Errorf("%+v", rec)
	}
}

// TestCallersOwnEffort: a pair whose advice sets what the caller has set to another value is not chosen. The caller's value is sent
// with another pair.
func TestCallersOwnEffort(t *testing.T) {
	w := effortWorld(t, high)
	own := `,"reasoning_effort":"low"}`
	if a := w.post(t, question+own); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Advice") != "none" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	if got := string(w.large.Requests()[0].Body); got != strings.Replace(question, "pipe", "model-l", 1)+own {
		t.Errorf("sent %s", got)
	}
	if rec := w.records(t)[0]; rec.Propensity[1] != 0 || rec.Propensity[3] != 0 || rec.Propensity[2] != 1 {
		t.Errorf("%+v", rec)
	}
}

// TestRefusedEffort: a service that does not take the effort refuses this pair alone. The next pair is tried, also one of the same
// expert, and the breaker stays closed.
func TestRefusedEffort(t *testing.T) {
	for name, text := range map[string]string{
		"by a code":       `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'high' with this model.","type":"invalid_request_error","param":"reasoning_effort","code":"unsupported_value"}}`,
		"unknown":         `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error","param":null,"code":null}}`,
		"by the location": `{"detail":[{"type":"literal_error","loc":["body","reasoning_effort"],"msg":"Input should be 'low'"}]}`,
	} {
		w := effortWorld(t, high)
		for _, service := range []*gatewaytest.Server{w.small, w.large} {
			service.Fault = func(n int, rw http.ResponseWriter, r *http.Request) bool {
				return strings.Contains(string(service.Requests()[n].Body), "reasoning_effort") && says(400, text)(n, rw, r)
			}
		}
		a := w.post(t, question+`}`)
		if a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Advice") != "none" || a.header.Get("X-Pipe-Fallbacks") != "2" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
		}
		if a := w.post(t, question+`,"reasoning_effort":"high"}`); a.status == 200 {
			t.Errorf("%s: the caller's own effort: %s", name, a.body)
		}
		if log := w.text.String(); !strings.Contains(log, "it does not take the fields of its advice") {
			t.Errorf("%s: %s", name, log)
		}
		for _, b := range w.api.Breakers() {
			if b.State != 0 {
				t.Errorf("%s: breaker %+v", name, b)
			}
		}
	}
}

// TestKnownEfforts: a pair whose expert is known not to accept the effort is never chosen, and is a problem of the configuration.
func TestKnownEfforts(t *testing.T) {
	w := effortWorld(t, func(s *Settings, a *advice.Settings) {
		a.Effort = "high"
		small := s.Experts["small"]
		small.Efforts = []string{"low", "medium"}
		s.Experts["small"] = small
	})
	const problem = `gateway: policy "claims": the expert "small" cannot be under the advice "search": effort "high" is none of those that the expert accepts: low, medium; the pair is never chosen`
	if err := w.api.Problems(); err == nil || err.Error() != problem {
		t.Error(err)
	}
	if a := w.post(t, question+`}`); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Advice") != "search" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if rec := w.records(t)[0]; rec.Action != 3 || rec.Propensity[1] != 0 {
		t.Errorf("%+v", rec)
	}
	other := effortWorld(t, func(_ *Settings, a *advice.Settings) {
		a.Fields = map[string]fields.Fields{fields.Anthropic: {"max_tokens": 5}}
	})
	if err := other.api.Problems(); err == nil || strings.Count(err.Error(), `sets no fields of the protocol openai; the pair is never chosen`) != 2 {
		t.Error(err)
	}
	if a := other.post(t, question+`}`); a.header.Get("X-Pipe-Advice") != "none" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if good := effortWorld(t, high); good.api.Problems() != nil {
		t.Error(good.api.Problems())
	}
}

func TestBadFieldsOfAdvice(t *testing.T) {
	for want, change := range map[string]func(s *Settings, a *advice.Settings){
		`advice.search.effort: is "huge", none of`:                                        func(_ *Settings, a *advice.Settings) { a.Effort = "huge" },
		"advice.search.set effort, or fields of a protocol":                               func(*Settings, *advice.Settings) {},
		"advice.search.fields.openai.messages cannot be set here":                         func(_ *Settings, a *advice.Settings) { a.Fields = map[string]fields.Fields{"openai": {"messages": 1}} },
		"advice.search.kind fields has neither index, file, search, ca_file nor template": func(_ *Settings, a *advice.Settings) { a.Effort, a.Index = "low", "x" },
		"advice.search.effort and fields are for the kind fields":                         func(_ *Settings, a *advice.Settings) { a.Kind, a.Effort = advice.KindNone, "low" },
		`experts.small.efforts: "much" is none of none, minimal, low, medium, high, xhigh, max`: func(s *Settings, a *advice.Settings) {
			a.Effort = "low"
			small := s.Experts["small"]
			small.Efforts = []string{"much"}
			s.Experts["small"] = small
		},
	} {
		s, e := DefaultSettings(), expert.DefaultSettings()
		e.BaseURL, e.Model = "http://127.0.0.1:1/v1", "m"
		s.Experts = map[string]expert.Settings{"small": e}
		a := advice.DefaultSettings()
		a.Kind = advice.KindFields
		change(&s, &a)
		s.Advice = map[string]advice.Settings{"search": a}
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
