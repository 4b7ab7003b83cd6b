package session

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// learned is what the traffic teaches: how services count and cache, how long callers pause, how prompts grow, and what a policy
// expects of its pairs.
type learned struct {
	mu       sync.Mutex
	services map[uint64]*service // by cache
	pauses   [64]float64         // of callers between turns, by the power of two of their milliseconds
	looped   mean                // share of the turns after the first that send results of tool calls
	growth   mean                // of prompts from turn to turn, in tokens
	samples  map[string]*samples // by digest of the policy
}

// Bounds of what is learned. Beyond them, all of it is learned again.
const (
	maxServices = 4096
	maxPolicies = 64
)

func newLearned() *learned {
	return &learned{services: make(map[uint64]*service), samples: make(map[string]*samples), growth: mean{fade: 0.999}, looped: mean{fade: 0.999}}
}

// mean is a ratio of two sums that slowly forgets.
type mean struct{ sum, of, fade float64 }

func (m *mean) add(sum, of float64) {
	m.sum, m.of = m.fade*m.sum+sum, m.fade*m.of+of
}

// or is the ratio, or another number where nothing was added.
func (m *mean) or(other float64) float64 {
	if m.of == 0 {
		return other
	}
	return m.sum / m.of
}

// service is what is known of a service and its model.
type service struct {
	tokens mean // of a byte
	usual  mean // tokens of a prompt
	warm   mean // share of what can be found in the cache, that was
	cold   mean // share of prompts that was found where nothing was expected, such as instructions that conversations share
	writes mean // share of what was not found, that was written to the cache at a price of its own
}

// Starting points, each with the weight of some tokens.
const (
	startTokens = 0.25 // of a byte
	startWarm   = 0.9
	startWeight = 2000 // tokens
)

// estimate is a copy of what is known of a service.
type estimate struct{ tokens, warm, cold, writes float64 }

// service returns the estimates for a cache.
func (l *learned) service(cache uint64) estimate {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[cache]
	if s == nil {
		return estimate{startTokens, startWarm, 0, 1}
	}
	return estimate{s.tokens.or(startTokens), s.warm.or(startWarm), s.cold.or(0), s.writes.or(1)}
}

// call is a prompt as a service counted it, in tokens but for the bytes.
type call struct {
	tokens, bytes float64
	could         float64 // be found in the cache
	found         float64 // in the cache; -1: not known
	written       float64 // to the cache, at a price of its own
}

// sent learns from a call.
func (l *learned) sent(cache uint64, c call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[cache]
	if s == nil {
		if len(l.services) >= maxServices {
			clear(l.services)
		}
		begin := func(share float64) mean { return mean{share * startWeight, startWeight, 0.999} }
		s = &service{usual: mean{fade: 0.999}, tokens: begin(startTokens), warm: begin(startWarm), cold: begin(0), writes: begin(1)}
		l.services[cache] = s
	}
	s.tokens.add(c.tokens, c.bytes)
	s.usual.add(c.tokens, 1)
	if c.found < 0 {
		return
	}
	s.writes.add(min(c.written, c.tokens-c.found), max(0, c.tokens-c.found))
	if c.could > 0 {
		s.warm.add(min(c.found, c.could), c.could)
	} else {
		s.cold.add(c.found, c.tokens)
	}
}

// prompts is the usual length of prompts, in tokens; other at first.
func (l *learned) prompts(cache uint64, other float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.services[cache]; s != nil {
		return s.usual.or(other)
	}
	return other
}

// paused learns from the time and the growth of a prompt between two turns. A turn in a tool loop has no pause of the caller.
func (l *learned) paused(pause time.Duration, grown float64, loop bool) {
	const fade = 0.999
	l.mu.Lock()
	defer l.mu.Unlock()
	if grown >= 0 {
		l.growth.add(grown, 1)
	}
	if loop {
		l.looped.add(1, 1)
		return
	}
	l.looped.add(0, 1)
	for i := range l.pauses {
		l.pauses[i] *= fade
	}
	l.pauses[bits.Len64(uint64(pause.Milliseconds()))%len(l.pauses)]++
}

// within is the share of pauses that are not longer than a time; 1 at first.
func (l *learned) within(ttl time.Duration) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	short, all := 0.0, 0.0
	for i, n := range l.pauses {
		low, high := math.Ldexp(0.5, i), math.Ldexp(1, i) // milliseconds
		all += n
		short += n * max(0, min(1, (float64(ttl.Milliseconds())-low)/(high-low)))
	}
	if all == 0 {
		return 1
	}
	return short / all
}

// grows is the mean growth of prompts from turn to turn, in tokens.
func (l *learned) grows() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.growth.or(0)
}

// loops is the probability that a turn is followed by one in a tool loop.
func (l *learned) loops() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looped.or(0)
}

// samples are the last decisions of a policy: what the best pair of each expert was expected to cost beside its prompt, in money.
type samples struct {
	rows [][]float64 // by expert
	next int
}

// Numbers of samples.
const (
	mostSamples  = 48
	leastSamples = 8 // with fewer, nothing is concluded from them
)

// decided adds a decision of a policy.
func (l *learned) decided(policy string, row []float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.samples[policy]
	if s == nil {
		if len(l.samples) >= maxPolicies {
			clear(l.samples)
		}
		s = &samples{}
		l.samples[policy] = s
	}
	if len(s.rows) < mostSamples {
		s.rows = append(s.rows, row)
		return
	}
	s.rows[s.next] = row
	s.next = (s.next + 1) % mostSamples
}

// decisions returns the last decisions of a policy. The rows must not be changed.
func (l *learned) decisions(policy string) [][]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.samples[policy]; s != nil && len(s.rows) >= leastSamples {
		return append([][]float64(nil), s.rows...)
	}
	return nil
}
