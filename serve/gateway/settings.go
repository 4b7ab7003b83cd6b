package gateway

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"pipe/internal/config"
	"pipe/serve/decision"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
)

// Settings of the gateway. Without experts there is none.
type Settings struct {
	// Experts are the services behind the experts of the policies, by the policies' names of them. Others than those can be
	// asked for by name.
	Experts map[string]expert.Settings `yaml:"experts"`
	// Advice is what can be shown to an expert, by the policies' names of it. The first advice of a policy, none, needs no
	// entry.
	Advice   map[string]advice.Settings `yaml:"advice"`
	Fallback Fallback                   `yaml:"fallback"`
	Breaker  expert.BreakerSettings     `yaml:"breaker"`
	// PassHeaders are headers of callers that are sent on to experts, besides traceparent, tracestate and x-request-id.
	PassHeaders []string `yaml:"pass_headers"`
	// WithoutText says what answers a conversation that has nothing the policy could see, such as pictures alone for a policy of
	// texts: decision.BestFixed, the name of a pair, expert/advice, or withoutTextRefuse.
	WithoutText string `yaml:"without_text"`
}

// withoutTextRefuse answers 400 to conversations that have nothing the policy could see.
const withoutTextRefuse = "refuse"

// unseen is what the decider is asked to take for such conversations.
func (s *Settings) unseen() string {
	if s.WithoutText == withoutTextRefuse {
		return ""
	}
	return s.WithoutText
}

// Fallback limits what is tried for one request.
type Fallback struct {
	Tries    int           `yaml:"tries"`    // most calls of experts
	Deadline time.Duration `yaml:"deadline"` // for all of them together, until the first content of the answer
}

// DefaultSettings have no experts, and try three calls within ten minutes.
func DefaultSettings() Settings {
	return Settings{Fallback: Fallback{Tries: 3, Deadline: 10 * time.Minute}, Breaker: expert.DefaultBreaker(), WithoutText: decision.BestFixed}
}

// Enabled reports whether there is a gateway: it has an expert.
func (s *Settings) Enabled() bool { return len(s.Experts) > 0 }

// Limits of settings.
const (
	mostTries    = 100
	mostDeadline = 24 * time.Hour
)

// policyModel is the name of the model that asks for the default policy; after it and a slash comes the name of another.
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
	p.Check(s.Fallback.Tries >= 1 && s.Fallback.Tries <= mostTries, "fallback.tries: is %d, not 1 to %d", s.Fallback.Tries, mostTries)
	p.Check(s.Fallback.Deadline >= time.Millisecond && s.Fallback.Deadline <= mostDeadline, "fallback.deadline: is %v, not 1ms to %v", s.Fallback.Deadline, mostDeadline)
	p.Add(config.Under("breaker", s.Breaker.Validate()))
	for _, h := range s.PassHeaders {
		name := textproto.CanonicalMIMEHeaderKey(h)
		p.Check(h != "" && !slices.Contains(keptHeaders, name) && !strings.HasPrefix(name, "Proxy-"),
			"pass_headers: %q belongs to the connection, the body or the caller's account here, and is not passed on", h)
	}
	known := s.WithoutText == decision.BestFixed || s.WithoutText == withoutTextRefuse || strings.Contains(s.WithoutText, "/")
	p.Check(known, "without_text: is %q, neither %s, %s nor a pair such as small/none", s.WithoutText, decision.BestFixed, withoutTextRefuse)
	return p.Err()
}

// keptHeaders are never sent on: they belong to the caller's connection, body or account.
var keptHeaders = []string{
	"Authorization", "Cookie", "X-Api-Key", "Api-Key", "Host", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Content-Type", "Content-Encoding", "Accept-Encoding", "Accept", "Expect",
}

// tracing are the headers that are sent on without being configured.
var tracing = []string{"Traceparent", "Tracestate", "X-Request-Id"}

// sentOn returns the headers of a request that experts get.
func (s *Settings) sentOn(h http.Header) http.Header {
	out := make(http.Header)
	for _, name := range slices.Concat(tracing, s.PassHeaders) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if v := h[name]; len(v) > 0 {
			out[name] = v
		}
	}
	return out
}

// isName reports whether a name can be a value of a header.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}
