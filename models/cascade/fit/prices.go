package fit

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/models/policy"
)

// pricing says at which prices a cascade is learned and judged.
type pricing struct {
	lambda float64            // of the file
	any    *policy.PriceRange // nil: the prices of the file are fixed
	// at are the prices that are compared at. The first are those that states are learned at: of a range, its centre. A file with fixed
	// prices has one.
	at []point
}

// point are prices, and the fees of all pairs.
type point struct {
	policy.PriceGuard
	prices *policy.Prices
	fees   []float64
}

// fixedPricing is for the fees of a at lambda.
func fixedPricing(a *costs.Actions, lambda float64) pricing {
	return pricing{lambda: lambda, at: []point{pointAt(a, policy.PriceGuard{Lambda: lambda})}}
}

// anyPricing is for a range: its centre, both ends of the factor on all fees at once, and the prices of auto. Prices with the same fees
// count once.
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
	for _, of := range auto.PointsIn(a, r) {
		add(of.PriceGuard)
	}
	return p
}

func pointAt(a *costs.Actions, of policy.PriceGuard) point {
	prices := of.Prices(a)
	return point{of, prices, prices.Fees()}
}

// points are prices as auto takes them, for the pairs of a state: an executed pair has no fee.
func points(at []point, executed []int) (out []auto.Point) {
	for _, of := range at {
		fees := slices.Clone(of.fees)
		for _, i := range executed {
			fees[i] = 0
		}
		out = append(out, auto.Point{PriceGuard: of.PriceGuard, Fees: fees})
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
