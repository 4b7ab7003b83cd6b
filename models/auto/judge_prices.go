package auto

import (
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// atLambda is the price of a policy whose fees are fixed.
func atLambda(t *table, lambda float64) price {
	return newPrice(t, policy.PriceGuard{Lambda: lambda}, t.full.Actions.Fees(lambda), t.usagePrices())
}

// lambdas are the multipliers at which an any-price policy is compared, as far as they are in its range. Both ends are
// added.
var lambdas = []float64{0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8}

// pricesIn are the prices of a range: every lambda with the fees as they are, and at lambda 1, or the nearest one of the
// range, the fee of every single expert and advice at both ends of its range. Prices with the same fees for every pair
// count once.
func pricesIn(t *table, r policy.PriceRange) (out []price) {
	eachPrice(t.full.Actions, t.usagePrices(), r, func(of policy.PriceGuard, fees []float64, usage policy.UsagePrices) {
		next := newPrice(t, of, fees, usage)
		if !slices.ContainsFunc(out, func(p price) bool { return slices.Equal(p.fees, fees) && slices.Equal(p.rates, next.rates) }) {
			out = append(out, next)
		}
	})
	return out
}

// Point are prices at which an any-price policy is compared: what was changed, and the fees of every pair of a table.
type Point struct {
	policy.PriceGuard
	Fees []float64
}

// PointsIn are the prices of a range at which [TrainAnyPrice] compares, without usage.
func PointsIn(a *costs.Actions, r policy.PriceRange) (out []Point) {
	eachPrice(a, policy.UsagePrices{}, r, func(of policy.PriceGuard, fees []float64, _ policy.UsagePrices) {
		if !slices.ContainsFunc(out, func(p Point) bool { return slices.Equal(p.Fees, fees) }) {
			out = append(out, Point{of, fees})
		}
	})
	return out
}

// eachPrice calls add for the prices of a range, also for some that are equal.
func eachPrice(a *costs.Actions, usual policy.UsagePrices, r policy.PriceRange, add func(of policy.PriceGuard, fees []float64, usage policy.UsagePrices)) {
	scales := slices.DeleteFunc(append([]float64{r.Lambda[0], r.Lambda[1]}, lambdas...), func(l float64) bool {
		return l < r.Lambda[0] || l > r.Lambda[1]
	})
	slices.Sort(scales)
	for _, l := range slices.Compact(scales) {
		add(policy.PriceGuard{Lambda: l}, a.Fees(l), usual)
	}
	one := min(max(1, r.Lambda[0]), r.Lambda[1])
	plain := a.Fees(one)
	for _, factor := range r.Fee {
		add(policy.PriceGuard{Lambda: one, Scaled: "usage", Factor: factor}, plain, usual.Times(factor, -1))
		scaled := func(name string, usage policy.UsagePrices, fee func(j, k int) float64) {
			fees := slices.Clone(plain)
			for i := range fees {
				fees[i] += (factor - 1) * fee(a.Pair(i))
			}
			add(policy.PriceGuard{Lambda: one, Scaled: name, Factor: factor}, fees, usage)
		}
		for j, e := range a.Experts {
			scaled("expert="+e.Name, usual.Times(factor, j), func(own, _ int) float64 { return feeIf(own == j, e.Fee) })
		}
		for k, v := range a.Advice {
			scaled("advice="+v.Name, usual, func(_, own int) float64 { return feeIf(own == k, one*v.Fee) })
		}
	}
}

func feeIf(is bool, fee float64) float64 {
	if is {
		return fee
	}
	return 0
}

// usagePrices are those of the training; none without usage.
func (t *table) usagePrices() policy.UsagePrices {
	if t.usage == nil {
		return policy.UsagePrices{}
	}
	return t.usage.prices
}
