package gateway

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"pipe/internal/config"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/abstain"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/panels"
	"pipe/serve/gateway/patience"
	"pipe/serve/gateway/responses"
	"pipe/serve/gateway/session"
	"pipe/serve/people"
)

// Settings of the gateway. Without experts there is none.
type Settings struct {
	// Experts are the services behind the experts of the policies, by the names that the policies use. Further experts can
	// be called by name.
	Experts map[string]expert.Settings `yaml:"experts"`
	// Advice is what can be shown to an expert, by the names that the policies use. The first advice of a policy, none, needs
	// no entry.
	Advice   map[string]advice.Settings `yaml:"advice"`
	Fallback Fallback                   `yaml:"fallback"`
	Breaker  expert.BreakerSettings     `yaml:"breaker"`
	// PassHeaders are headers of callers that are forwarded to experts, besides traceparent, tracestate and x-request-id.
	PassHeaders []string `yaml:"pass_headers"`
	// WithoutText says which pair answers a conversation without any input for the policy, such as images alone for a policy
	// of texts: decision.BestFixed, the name of a pair (expert/advice), or withoutTextRefuse.
	WithoutText string          `yaml:"without_text"`
	Panel       panels.Settings `yaml:"panel"`
	// Abstain is what a caller gets where the guarantee of a policy accepts no answer and nobody takes over.
	Abstain abstain.Settings `yaml:"abstain"`
	// Responses says how many conversations of OpenAI's Responses are kept for previous_response_id.
	Responses responses.Settings `yaml:"responses"`
	// Patience lets calls be cut by what is learned about the times of experts; nil: by the flat timeouts.
	Patience *patience.Settings `yaml:"patience"`
	Latency  *patience.Latency  `yaml:"latency"` // the fee of lateness; nil: none
	Hedge    *patience.Hedge    `yaml:"hedge"`   // second calls; nil: none
	// Sessions are conversations whose next turn costs less at the expert that has their beginning in its cache.
	Sessions session.Settings `yaml:"sessions"`
	// Budgets bound what requests spend in a period.
	Budgets budget.Settings `yaml:"budgets"`
	// People are the experts that are people. pipe serve sets it. nil: there are none.
	People *people.People `yaml:"-"`
}

// withoutTextRefuse answers 400 to conversations without any input for the policy.
const withoutTextRefuse = "refuse"

// fixedPair is the pair for such conversations, as [decision.Request] takes it; "" refuses them.
func (s *Settings) fixedPair() string {
	if s.WithoutText == withoutTextRefuse {
		return ""
	}
	return s.WithoutText
}

// Fallback limits the calls for one request.
type Fallback struct {
	Tries    int           `yaml:"tries"`    // most calls of experts
	Deadline time.Duration `yaml:"deadline"` // for all of them together, until the first content of the answer
}

// DefaultSettings have no experts, and allow three calls within ten minutes.
func DefaultSettings() Settings {
	return Settings{Fallback: Fallback{Tries: 3, Deadline: 10 * time.Minute}, Breaker: expert.DefaultBreaker(), WithoutText: decision.BestFixed, Abstain: abstain.Default(), Panel: panels.Default(), Responses: responses.Settings{Keep: 10_000, Bytes: 256 << 20}, Sessions: session.DefaultSettings()}
}

// Enabled reports whether there is a gateway, which needs at least one expert.
func (s *Settings) Enabled() bool { return len(s.Experts) > 0 }

// Limits of settings.
const (
	maxTries    = 100
	maxDeadline = 24 * time.Hour
)

// policyModel is the model name of the default policy. Other policies are policyModel/NAME.
const policyModel = "pipe"

// Validate reports every problem. It opens no file.
func (s *Settings) Validate() error {
	var p config.Problems
	for _, name := range slices.Sorted(maps.Keys(s.Experts)) {
		e := s.Experts[name]
		p.Check(isName(name) && name != policyModel && !strings.HasPrefix(name, policyModel+"/"), "experts: %q cannot be the name of an expert", name)
		p.Add(config.Under("experts."+name, e.Validate()))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Advice)) {
		a := s.Advice[name]
		p.Check(isName(name), "advice: %q cannot be the name of advice", name)
		p.Add(config.Under("advice."+name, a.Validate()))
	}
	p.Check(s.Fallback.Tries >= 1 && s.Fallback.Tries <= maxTries, "fallback.tries: is %d, not 1 to %d", s.Fallback.Tries, maxTries)
	p.Check(s.Fallback.Deadline >= time.Millisecond && s.Fallback.Deadline <= maxDeadline, "fallback.deadline: is %v, not 1ms to %v", s.Fallback.Deadline, maxDeadline)
	p.Add(config.Under("breaker", s.Breaker.Validate()))
	p.Add(config.Under("panel", s.Panel.Validate()))
	p.Add(config.Under("abstain", s.Abstain.Validate()))
	p.Add(config.Under("responses", s.Responses.Validate()))
	p.Add(config.Under("sessions", s.Sessions.Validate()))
	p.Add(config.Under("panel.grader", s.Panel.CheckGrader(slices.Collect(maps.Keys(s.Experts)))))
	p.Check(!s.Panel.Enabled() || s.Enabled(), "panel: there are no experts that could answer")
	if s.Patience != nil {
		p.Add(config.Under("patience", s.Patience.Validate()))
	}
	if s.Latency != nil {
		p.Add(config.Under("latency", s.Latency.Validate()))
	}
	if s.Hedge != nil {
		p.Add(config.Under("hedge", s.Hedge.Validate()))
	}
	p.Add(config.Under("budgets", s.Budgets.Validate()))
	p.Check(!s.Budgets.Enabled() || s.Enabled(), "budgets: there are no experts whose calls cost anything")
	for _, h := range s.PassHeaders {
		name := textproto.CanonicalMIMEHeaderKey(h)
		p.Check(h != "" && !slices.Contains(neverForwarded, name) && !strings.HasPrefix(name, "Proxy-"),
			"pass_headers: %q belongs to the connection, the body or the caller's account here, and is not passed on", h)
	}
	known := s.WithoutText == decision.BestFixed || s.WithoutText == withoutTextRefuse || strings.Contains(s.WithoutText, "/")
	p.Check(known, "without_text: is %q, neither %s, %s nor a pair such as small/none", s.WithoutText, decision.BestFixed, withoutTextRefuse)
	return p.Err()
}

// neverForwarded are headers that belong to the caller's connection, body or account.
var neverForwarded = []string{
	"Authorization", "Cookie", "X-Api-Key", "Api-Key", "Host", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Content-Type", "Content-Encoding", "Accept-Encoding", "Accept", "Expect",
}

// alwaysForwarded are headers that need no configuration.
var alwaysForwarded = []string{"Traceparent", "Tracestate", "X-Request-Id"}

// forwardedHeaders returns the headers of a request that are forwarded to experts.
func (s *Settings) forwardedHeaders(h http.Header) http.Header {
	out := make(http.Header)
	for _, name := range slices.Concat(alwaysForwarded, s.PassHeaders) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if v := h[name]; len(v) > 0 {
			out[name] = v
		}
	}
	return out
}

// isName reports whether a name can be the value of a header.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}
