package decision

import (
	"math"
)

// units is the number of equally likely outcomes of one draw. Every propensity is a whole number divided by units. Such
// numbers, and their sums, are exact in float64, so the logged propensity is exactly the probability of the sampler.
const units = 1 << 53

// propensities writes the probability of every pair to dst. Their sum is exactly 1.
//
// allowed[i] is whether pair i may be chosen; greedy is the policy's choice, and is allowed. cost is the expected cost of
// every pair; nil if the policy estimates none. Pairs that are not allowed get 0.
func (e Explore) propensities(dst []float64, allowed []bool, greedy int, cost []float32) {
	clear(dst)
	dst[greedy] = 1
	if !e.explores(cost) {
		return
	}
	e.weigh(dst, allowed, greedy, cost)
	shrink := e.shrink(dst, greedy, cost)
	rest := int64(units)
	for i, p := range dst {
		if i == greedy {
			continue
		}
		n := int64(math.Floor(p * shrink * units)) // p * shrink is at most 1
		n = max(0, min(n, rest))
		rest -= n
		dst[i] = float64(n) / units
	}
	dst[greedy] = float64(rest) / units
}

// explores reports whether exploration applies to a decision with these expected costs.
func (e Explore) explores(cost []float32) bool {
	return !e.off() && (cost != nil || e.Epsilon > 0 && e.MaxExtraCost == nil && e.Ledger == nil)
}

// weigh writes the probabilities before MaxExtraCost is applied. Only those of the pairs beside the greedy one are used.
func (e Explore) weigh(dst []float64, allowed []bool, greedy int, cost []float32) {
	n, least := 0.0, math.Inf(1)
	for i, ok := range allowed {
		if ok {
			n++
		}
		if ok && cost != nil {
			least = min(least, float64(cost[i]))
		}
	}
	sum := 1.0
	if e.Softmax > 0 {
		sum = 0
	}
	for i, ok := range allowed {
		dst[i] = 0
		switch {
		case !ok:
		case e.Softmax > 0:
			dst[i] = math.Exp((least - float64(cost[i])) / e.Softmax)
			sum += dst[i]
		case e.SquareCB: // arXiv 2002.04926, with the policy's choice as the best pair
			dst[i] = 1 / (n + e.Gamma*(float64(cost[i])-least))
		default:
			dst[i] = e.Epsilon / n
		}
	}
	for i := range dst {
		dst[i] /= sum
	}
}

// shrink returns the factor on the probabilities of all pairs but the greedy one that keeps MaxExtraCost. Pairs with a
// lower expected cost than the greedy one do not compensate for more expensive ones.
func (e Explore) shrink(p []float64, greedy int, cost []float32) float64 {
	if e.MaxExtraCost == nil {
		return 1
	}
	extra := 0.0
	for i, c := range cost {
		if more := float64(c) - float64(cost[greedy]); p[i] > 0 && more > 0 {
			extra += p[i] * more
		}
	}
	if extra <= *e.MaxExtraCost {
		return 1
	}
	return *e.MaxExtraCost / extra
}

// draw draws a pair with the propensities p. u is uniform among the integers from 0 to units-1.
func draw(p []float64, u uint64) int {
	last := 0
	for i, v := range p {
		n := uint64(v * units)
		if n == 0 {
			continue
		}
		if u < n {
			return i
		}
		u -= n
		last = i
	}
	return last // not reached: the propensities sum to 1
}
