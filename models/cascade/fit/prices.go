package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/models/regress"
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

// mostReferences bounds how often an early state is learned.
const mostReferences = 5

// anyPricing is for a range: references are its centre, both ends of the factor on all fees at once, both ends of lambda, and, where there
// are less than the most, what is between the centre and those factors.
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
	for _, factor := range r.Fee {
		if len(p.at) < mostReferences {
			add(policy.PriceGuard{Lambda: one, Scaled: policy.AllFees, Factor: math.Sqrt(factor)})
		}
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

// countPenalty is that of the ridge regression that estimates how often pairs are executed later.
const countPenalty = 100

// later are the pairs that are executed after one that a state executes next, at a reference, and estimates of how often.
func (l *learner) later(ctx context.Context, executed []int, reference int, e cascade.Encoding) (later []cascade.Later, count estimate.Linear, err error) {
	pairs := l.t.Actions.Len()
	often := make([][]float32, l.t.Len()) // by row: A x A; nil where it is not known
	total := make([]float32, pairs*pairs)
	var rows []int
	for n := range often {
		if often[n] = l.counts(executed, reference, n); often[n] == nil {
			continue
		}
		rows = append(rows, n)
		for at, v := range often[n] {
			total[at] += v
		}
	}
	for at, v := range total {
		if v > 0 {
			later = append(later, cascade.Later{First: at / pairs, Pair: at % pairs})
		}
	}
	if len(later) == 0 {
		return nil, count, nil
	}
	d := &regress.Data{Dim: e.Width(), Pairs: len(later), Mask: slices.Repeat([]bool{true}, len(later)), ExpertFees: make([]float64, len(later)), AdviceFees: []float64{0}}
	columns := len(l.columns) / l.t.Len()
	for _, n := range rows {
		d.X = e.Encode(d.X, l.t.Row(n), l.columns[n*columns:(n+1)*columns])
		for _, of := range later {
			d.Y = append(d.Y, often[n][of.First*pairs+of.Pair])
		}
	}
	count, err = ridge(ctx, d)
	return later, count, err
}

// counts are how often pairs are executed on a row after each that a state executes next: A x A; nil if that is not known.
func (l *learner) counts(executed []int, reference, row int) []float32 {
	pairs := l.t.Actions.Len()
	out := make([]float32, pairs*pairs)
	for b := range pairs {
		if slices.Contains(executed, b) {
			continue
		}
		path, known := l.path(with(executed, b), reference, row)
		if !known {
			return nil
		}
		for _, c := range path {
			out[b*pairs+c] = 1
		}
	}
	return out
}

// ridge estimates what d has by its features, which it standardises.
func ridge(ctx context.Context, d *regress.Data) (out estimate.Linear, err error) {
	raw, every := d.X, make([]int, len(d.X)/d.Dim)
	for n := range every {
		every[n] = n
	}
	std := network.FitStandardizer(raw, d.Dim, every)
	d.X = std.Apply(raw, d.Dim)
	parts, err := regress.Ridge{Penalties: []float64{countPenalty}}.Fit(ctx, d, every, []float64{1})
	if err != nil {
		return out, err
	}
	out = parts[0].Estimator.(estimate.Linear)
	for c := range d.Pairs {
		for i := range d.Dim {
			w := &out.W[c*d.Dim+i]
			*w *= std.Scale[i]
			out.B[c] -= *w * std.Mean[i]
		}
	}
	return out, nil
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
