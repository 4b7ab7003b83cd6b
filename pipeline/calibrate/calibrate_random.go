package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
	"pipe/models/policy"
	"pipe/pipeline/replay"
)

// RandomPrices draws prices of an any-price policy, one for each row, and says by which law: lambda is uniform in its range, and the fee
// of every expert and advice is multiplied by a number whose logarithm is uniform in that of its range. Prices of usage follow the
// factor of their expert.
func RandomPrices(info *policy.Info, rows int, seed uint64) (law string, prices []*policy.Prices) {
	r := info.Prices
	low, high := max(r.Fee[0], 1e-3), max(r.Fee[1], 1e-3)
	law = fmt.Sprintf("lambda uniform from %g to %g, every fee times a number from %g to %g whose logarithm is uniform", r.Lambda[0], r.Lambda[1], low, high)
	random := seeded.Stream(seed, "random prices", 0)
	factor := func() float64 { return low * math.Pow(high/low, random.Float64()) }
	own := info.PriceAt(info.Actions, info.Lambda, nil).Usage
	for range rows {
		a, usage := *info.Actions, own
		a.Experts, a.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
		for j := range a.Experts {
			by := factor()
			a.Experts[j].Fee *= by
			usage = usage.Times(by, j)
		}
		for k := range a.Advice {
			a.Advice[k].Fee *= factor()
		}
		lambda := r.Lambda[0] + (r.Lambda[1]-r.Lambda[0])*random.Float64()
		prices = append(prices, info.PriceAt(&a, lambda, &usage))
	}
	return law, prices
}

func (d once) atRandom(ctx context.Context, t *costs.Tensor, rows []int, prices []*policy.Prices) (actions []int, scores []float32, err error) {
	var l replay.Decisions
	for first := 0; first < len(rows); first += policy.MostTogether {
		part := rows[first:min(first+policy.MostTogether, len(rows))]
		ask := &policy.Ask{Rows: len(part), Prices: prices[first : first+len(part)]}
		for _, n := range part {
			ask.Features = append(ask.Features, t.Row(n)...)
		}
		d.DecideTogether(ctx, []*policy.Ask{ask})
		var bad *policy.RowError
		if errors.As(ask.Err, &bad) {
			n := part[bad.Row]
			return nil, nil, &costs.DataError{Row: n + 1, Msg: fmt.Sprintf("id %q", t.IDs[n]), Err: bad.Err}
		}
		if ask.Err != nil {
			return nil, nil, ask.Err
		}
		for _, a := range ask.Answer.Action {
			l.Action = append(l.Action, int(a))
		}
		l.Loss = append(l.Loss, ask.Answer.Loss...)
	}
	actions, scores = scored(l, t.Actions.Len())
	return actions, scores, nil
}
