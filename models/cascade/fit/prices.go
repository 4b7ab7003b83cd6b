package fit

import (
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/models/cascade"
	"pipe/models/policy"
)

// pricing says at which prices a cascade is learned and judged.
type pricing struct {
	lambda float64            // of the file
	any    *policy.PriceRange // nil: the prices of the file are fixed
	// at are the prices that the guard compares at: the first ones are those of references, and the first of all is the centre. A file with
	// fixed prices has one.
	at         []point
	references int
}

// point are prices, and the fees of all pairs.
type point struct {
	policy.PriceGuard
	prices *policy.Prices
	fees   []float64
}

// fixedPricing is for the fees of a at lambda.
func fixedPricing(a *costs.Actions, lambda float64) pricing {
	return pricing{lambda: lambda, at: []point{pointAt(a, policy.PriceGuard{Lambda: lambda})}, references: 1}
}

// anyPricing is for a range: references are its centre, both ends of the factor on all fees at once, and both ends of lambda.
func anyPricing(a *costs.Actions, r policy.PriceRange) pricing {
	p := pricing{lambda: 1, any: &r}
	add := func(of policy.PriceGuard) {
		next := pointAt(a, of)
		if !slices.ContainsFunc(p.at, func(other point) bool { return slices.Equal(other.fees, next.fees) }) {
			p.at = append(p.at, next)
		}
	}
	one := min(max(1, r.Lambda[0]), r.Lambda[1])
	add(policy.PriceGuard{Lambda: one})
	for _, factor := range r.Fee {
		add(policy.PriceGuard{Lambda: one, Scaled: policy.AllFees, Factor: factor})
	}
	for _, lambda := range r.Lambda {
		add(policy.PriceGuard{Lambda: lambda})
	}
	p.references = len(p.at)
	for _, of := range auto.PointsIn(a, r) {
		add(of.PriceGuard)
	}
	return p
}

func pointAt(a *costs.Actions, of policy.PriceGuard) point {
	prices := of.Prices(a)
	return point{of, prices, prices.Fees()}
}

// of are points as auto takes them, for the pairs of a state: an executed pair has no fee.
func (p pricing) of(points []point, executed []int) (out []auto.Point) {
	for _, at := range points {
		fees := slices.Clone(at.fees)
		for _, i := range executed {
			fees[i] = 0
		}
		out = append(out, auto.Point{PriceGuard: at.PriceGuard, Fees: fees})
	}
	return out
}

// fixedPair is the best fixed pair of a policy that decides once, at fees.
func fixedPair(one *policy.Policy, fees []float64) int {
	if one.Estimate == nil {
		return one.Fixed
	}
	best, least := -1, float32(0)
	for i, ok := range one.Actions.Mask() {
		if cost := float32(one.Estimate.Constant[i]) + float32(fees[i]); ok && (best < 0 || cost < least) {
			best, least = i, cost
		}
	}
	return best
}

// later is how often pairs are executed after one was executed next, means over the rows at a reference: A x A.
func (l *learner) later(executed []int, reference int) []float64 {
	pairs := l.t.Actions.Len()
	out := make([]float64, pairs*pairs)
	for b := range pairs {
		first := with(executed, b)
		if slices.Contains(executed, b) || l.action[fmt.Sprint(first)] == nil {
			continue
		}
		rows := 0.0
		for n := range l.t.Len() {
			if path, known := l.path(first, reference, n); known {
				rows++
				for _, c := range path {
					out[b*pairs+c]++
				}
			}
		}
		for c := range pairs {
			out[b*pairs+c] /= max(1, rows)
		}
	}
	return out
}

// path are the pairs that are executed on a row from a state on, by what other folds learned; false if that is not known.
func (l *learner) path(executed []int, reference, row int) (pairs []int, known bool) {
	for {
		next := l.action[fmt.Sprint(executed)]
		if next == nil {
			return pairs, true
		}
		switch i := next[reference][row]; {
		case i < 0:
			return nil, false
		case slices.Contains(executed, i):
			return pairs, true
		default:
			pairs, executed = append(pairs, i), with(executed, i)
		}
	}
}

// spread is the range of the losses.
func spread(t *costs.Tensor) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range t.Loss {
		if v == v {
			low, high = min(low, float64(v)), max(high, float64(v))
		}
	}
	return high - low
}

// reference is what a state decides by at reference prices.
func (l *learner) reference(executed []int, n int, p *policy.Policy) cascade.Reference {
	return cascade.Reference{Policy: p, Fees: l.p.at[n].fees, Later: l.later(executed, n)}
}
