package gateway

import (
	"log/slog"
	"slices"

	"pipe/serve/policies"
)

// surcharge returns what the pairs of a policy cost for a request beside their fees, in units of the loss; nil: nothing.
type surcharge func(*policies.Policy) ([]float64, error)

// surcharged is the part of the expected cost of a pair that amounts make, one for each pair: its own, and of a cascade also those of the
// pairs that are expected to be asked after it.
func (q *routed) surcharged(pair int, amount func(of int) float64) (sum float64) {
	for i := range q.record.Available {
		if n := q.executions(pair, i); n > 0 {
			sum += n * amount(i)
		}
	}
	return sum
}

// executions is how often a pair is expected to be asked if another one is asked first.
func (q *routed) executions(first, then int) float64 {
	if p := q.result.Policy; !q.counted && p.Info().Prices != nil && q.record.ExpectedCost != nil && q.inStages(p) {
		var err error
		if q.runs, err = p.Executions(q.r.Context(), q.result.Prices, q.record.Features, q.record.ExpectedCost); err != nil && !clientGone(q.r.Context()) {
			q.api.log.LogAttrs(q.r.Context(), slog.LevelWarn, "what a cascade is expected to ask later is not known, so budgets and sessions count its first pair alone", q.id(), slog.String("error", err.Error()))
		}
	}
	q.counted = true
	switch {
	case q.runs != nil:
		return q.runs[first*len(q.record.Available)+then]
	case first == then:
		return 1
	}
	return 0
}

// addUp returns the sum of the surcharges that are not nil; nil if all are.
func addUp(all ...surcharge) surcharge {
	var some []surcharge
	for _, s := range all {
		if s != nil {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return func(p *policies.Policy) (sum []float64, err error) {
		for _, s := range some {
			amounts, err := s(p)
			switch {
			case err != nil:
				return nil, err
			case sum == nil:
				sum = slices.Clone(amounts)
			case amounts != nil:
				for i := range sum {
					sum[i] += amounts[i]
				}
			}
		}
		return sum, nil
	}
}
