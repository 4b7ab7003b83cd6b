package session

import (
	"math"
	"slices"
	"time"
)

// Price is what a token of a prompt costs, in money.
type Price struct {
	In    float64       // not cached
	Read  float64       // from the cache
	Write float64       // not cached, and written to the cache; that of In where services do not bill it apart
	TTL   time.Duration // of the cache
}

// prompt is the price of a prompt of which a part is found in the cache.
func (p *Price) prompt(tokens, found float64) float64 {
	return (tokens-found)*p.Write + found*p.Read
}

// Expert is what a plan has to know of an expert.
type Expert struct {
	Name  string
	Cache string // service and model: experts with the same ones share a cache
	// Price returns the prices of a prompt of a number of tokens. ok is false if one is not known. nil: the expert never answers.
	Price func(tokens float64) (p Price, ok bool)
}

// Advice says what advice does to the prompt.
type Advice struct {
	// Lead is what stands before the conversation, the same in every turn. Empty: nothing, or something that changes.
	Lead string
	// Breaks says that something stands before the conversation that changes with the turn, so nothing is found in the cache.
	Breaks bool
	// Inside says that it stands before the last message of the user. Later turns find what is before it.
	Inside bool
}

// Policy is what a plan has to know of a policy.
type Policy struct {
	Digest  string
	Experts []Expert
	Advice  []Advice
	// Tokens says that the fees of the policy follow the tokens of each prompt. Otherwise they are for a prompt of usual length.
	Tokens bool
	// Fees are those of the experts, in money, without Tokens. nil: they are part of what the policy expects.
	Fees []float64
}

// Plan says what the pairs of a policy cost for one request beside their fees, in money, by pair: expert times the number
// of kinds of advice plus advice.
type Plan struct {
	Extra  []float64 // of at least 0; see the package's comment
	Prompt []float64 // expected price of the prompt
	InUse  int       // the expert that answered the last turn; -1: none, or not known
	policy *Policy
	states []state
}

// state is what is known of an expert's cache.
type state struct {
	cache  uint64
	price  Price
	tokens float64 // of the prompt
	could  float64 // tokens that can be found in the cache
	found  float64 // tokens that are expected to be found
	share  float64 // of what can be found, what is
	cold   float64 // share of the prompt that is found where nothing is expected
	lead   uint64  // what stands before the conversation in the cache
	plain  float64 // money for the prompt that is in the fee of the policy
	absent bool    // the expert never answers
}

// Plan returns what the pairs of a policy cost for this request beside their fees; nil if a price is not known.
func (t *Turn) Plan(p *Policy) *Plan {
	out := &Plan{InUse: -1, policy: p, states: make([]state, len(p.Experts))}
	for e := range p.Experts {
		var ok bool
		if out.states[e], ok = t.state(&p.Experts[e]); !ok {
			return nil
		}
		out.states[e].plain = t.plain(p, e, &out.states[e])
		if t.found && t.entry.Expert == t.sessions.digests.word([]byte(p.Experts[e].Name)) {
			out.InUse = e
		}
	}
	out.Extra, out.Prompt = t.extra(p, out.states, t.ahead(p, out.states))
	return out
}

// state returns what is known of the cache of an expert. ok is false if a price is not known.
func (t *Turn) state(e *Expert) (s state, ok bool) {
	if e.Price == nil {
		s.absent = true
		return s, true
	}
	s.cache = t.cache(e)
	about := t.sessions.learned.service(s.cache)
	s.tokens, s.share, s.cold = t.tokens(s.cache, about.tokens), about.warm, about.cold
	if s.price, ok = e.Price(s.tokens); !ok {
		return s, false
	}
	s.price.Write = s.price.In + about.writes*(s.price.Write-s.price.In)
	if m := t.entry.find(s.cache); m != nil && t.continues(m) && age(t.now, m.At) < s.price.TTL {
		if m.Share >= 0 {
			s.share = m.Share
		}
		s.could, s.lead = min(float64(m.Tokens), s.tokens), m.Lead
		s.found = max(s.share*s.could, s.cold*s.tokens)
	}
	return s, true
}

// plain is the money for the prompt that is in the fee of the policy: that of this prompt at the plain price, or that of one of
// usual length, if the fee has so much.
func (t *Turn) plain(p *Policy, e int, s *state) float64 {
	if p.Tokens {
		return s.price.In * s.tokens
	}
	usual := s.price.In * t.sessions.learned.prompts(s.cache, s.tokens)
	if p.Fees != nil {
		usual = min(usual, p.Fees[e])
	}
	return usual
}

// continues reports whether the request begins with the messages of a mark.
func (t *Turn) continues(m *mark) bool {
	return m.N >= 1 && m.N <= int64(len(t.talk.chain)) && t.talk.chain[m.N-1] == m.Chain
}

// tokens estimates the length of the prompt for a service, from the prompt before and the bytes that came since.
func (t *Turn) tokens(cache uint64, perByte float64) float64 {
	plain := perByte * float64(t.facts.Bytes)
	if t.entry.Tokens == 0 || t.entry.Bytes == 0 {
		return plain
	}
	before := float64(t.entry.Tokens)
	if m := t.entry.last(); m != nil && m.Cache != cache { // another service counts in another way
		before *= perByte / t.sessions.learned.service(m.Cache).tokens
	}
	grown := float64(int64(t.facts.Bytes) - t.entry.Bytes)
	if grown < 0 {
		return before * float64(t.facts.Bytes) / float64(t.entry.Bytes)
	}
	return before + perByte*grown
}

// last is the mark of the last call; nil if there is none.
func (e *entry) last() (last *mark) {
	for i := range e.Marks[:e.N] {
		if last == nil || e.Marks[i].At > last.At {
			last = &e.Marks[i]
		}
	}
	return last
}

// ahead makes the decision problem of the turns after this one.
func (t *Turn) ahead(p *Policy, all []state) *ahead {
	l, n := t.sessions.learned, len(all)
	a := &ahead{gamma: t.settings.Turns / (1 + t.settings.Turns), warm: make([]float64, n), cold: make([]float64, n)}
	a.rows = slices.DeleteFunc(l.decisions(p.Digest), func(row []float64) bool { return len(row) != n })
	a.mean = means(a.rows, n)
	a.bit, a.caches = follow(all, a.mean)
	if t.settings.Keep {
		a.loop = l.loops()
	}
	a.living = living(a.bit, all, l.within)
	grows := l.grows()
	for e := range all {
		s, price := &all[e], &all[e].price
		if s.absent {
			a.cold[e], a.warm[e] = most, most
			continue
		}
		tokens := s.tokens + grows
		plain := s.plain
		if p.Tokens {
			plain = 0 // samples are without it
		}
		a.cold[e] = price.prompt(tokens, s.cold*tokens) - plain
		a.warm[e] = min(a.cold[e], price.prompt(tokens, s.share*s.tokens)-plain)
	}
	return a
}

// extra returns what the pairs cost beside their fees, and the prices of their prompts.
func (t *Turn) extra(p *Policy, all []state, a *ahead) (extra, prompt []float64) {
	values := a.values()
	now := 0 // the set of caches that have the conversation now
	for e := range all {
		if all[e].could > 0 {
			now |= a.bit[e]
		}
	}
	share := t.inside()
	least := math.Inf(1)
	for e := range all {
		s := &all[e]
		for k := range p.Advice {
			v := &p.Advice[k]
			found, kept := s.found, 1.0
			switch {
			case v.Breaks:
				found, kept = 0, 0
			case v.Inside:
				kept = share
			}
			if !v.Breaks && s.could > 0 && s.lead != t.lead(v) {
				found = s.cold * s.tokens
			}
			price := s.price.prompt(s.tokens, found)
			later := kept*a.later(e, now|a.bit[e], values) + (1-kept)*a.later(e, now, values)
			prompt = append(prompt, price)
			extra = append(extra, price-s.plain+later)
			if !s.absent {
				least = min(least, extra[len(extra)-1])
			}
		}
	}
	for i := range extra {
		extra[i] -= least
		if all[i/len(p.Advice)].absent {
			extra[i] = 0
		}
	}
	return extra, prompt
}

// lead is the digest of what advice puts before the conversation; 0: nothing.
func (t *Turn) lead(v *Advice) uint64 {
	if v.Lead == "" {
		return 0
	}
	return t.sessions.digests.word([]byte("lead"), []byte(v.Lead))
}

// inside is the share of the prompt that is before the last message of the user.
func (t *Turn) inside() float64 {
	kept := t.before()
	if kept == len(t.facts.Messages) || t.facts.Bytes == 0 {
		return 1
	}
	after := t.talk.ends[len(t.talk.ends)-1]
	if kept > 0 {
		after -= t.talk.ends[kept-1]
	}
	return max(0, 1-float64(after)/float64(t.facts.Bytes))
}

// before is the number of messages before the last one of the user; all of them if there is none.
func (t *Turn) before() int {
	for i, m := range slices.Backward(t.facts.Messages) {
		if m.User {
			return i
		}
	}
	return len(t.facts.Messages)
}
