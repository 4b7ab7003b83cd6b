package budget

import (
	"maps"
	"math"
	"math/bits"
	"sync"
)

// usage has what calls of each pair of expert and advice used until now, by the length of the request. It is safe for concurrent
// use.
type usage struct {
	mu    sync.Mutex
	pairs map[string]pairUsage
}

// lengths is the number of classes of lengths: each has requests of up to twice as many bytes as the one before.
const lengths = 28

// pairUsage has means of the calls of a pair, in which later calls count more.
type pairUsage struct {
	Calls  float64          `json:"calls"`  // that count for the means of the prompt
	Token  float64          `json:"token"`  // tokens of the prompt for each byte of the request
	Cached float64          `json:"cached"` // part of the tokens of the prompt that the service had cached
	Seen   [lengths]float64 `json:"seen"`   // calls that count for the mean of the answers, by length
	Out    [lengths]float64 `json:"out"`    // tokens of the answer
}

// Tokens are the tokens of a call.
type Tokens struct{ In, Cached, Out float64 }

// What a pair is taken to use that was never called, and whose policy does not say: a token for four bytes, and an answer of 256
// tokens. The first calls count beside it as many calls as some.
const (
	tokenOfByte = 0.25
	answer      = 256
	some        = 4
	// most calls that count, so that the means follow what changes
	most = 200
)

func newUsage() *usage { return &usage{pairs: map[string]pairUsage{}} }

func pairKey(expert, advice string) string { return expert + "\t" + advice }

// class is the class of a length in bytes.
func class(bytes int) int { return min(bits.Len(uint(max(bytes, 0))), lengths-1) }

// see takes what a call used.
func (u *usage) see(expert, advice string, bytes int, t Tokens) {
	if !(t.In > 0) || bytes <= 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key := pairKey(expert, advice)
	p, at := u.pairs[key], class(bytes)
	p.Calls = min(p.Calls+1, most)
	p.Token += (t.In/float64(bytes) - p.Token) / p.Calls
	p.Cached += (min(1, t.Cached/t.In) - p.Cached) / p.Calls
	p.Seen[at] = min(p.Seen[at]+1, most)
	p.Out[at] += (t.Out - p.Out[at]) / p.Seen[at]
	u.pairs[key] = p
}

// expected is what a call of a pair is expected to use. before has the means of the policy, 0 where it has none.
func (u *usage) expected(expert, advice string, bytes int, before Tokens) Tokens {
	u.mu.Lock()
	p := u.pairs[pairKey(expert, advice)]
	u.mu.Unlock()
	in, out := before.In, before.Out
	if in == 0 {
		in = tokenOfByte * float64(bytes)
	}
	if out == 0 {
		out = answer
	}
	sum, n := 0.0, 0.0
	for at := range p.Out { // other lengths count less, the further away they are
		w := p.Seen[at] * math.Pow(4, -math.Abs(float64(at-class(bytes))))
		sum, n = sum+w*p.Out[at], n+w
	}
	t := Tokens{In: (some*in + p.Calls*p.Token*float64(bytes)) / (some + p.Calls), Out: (some*out + n*ratio(sum, n)) / (some + n)}
	t.Cached = t.In * p.Cached * p.Calls / (some + p.Calls)
	return t
}

func ratio(sum, n float64) float64 {
	if n == 0 {
		return 0
	}
	return sum / n
}

// all returns a copy.
func (u *usage) all() map[string]pairUsage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.pairs)
}

func (u *usage) restore(pairs map[string]pairUsage) {
	if pairs != nil {
		u.pairs = pairs
	}
}

// isValid reports whether the numbers are possible.
func (p *pairUsage) isValid() bool {
	ok := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	for at := range p.Out {
		if !ok(p.Seen[at]) || !ok(p.Out[at]) {
			return false
		}
	}
	return ok(p.Calls) && ok(p.Token) && p.Cached >= 0 && p.Cached <= 1
}
