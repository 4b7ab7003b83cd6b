package ope

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/models"
	"pipe/models/offpolicy"
	"pipe/models/offpolicy/anytime"
)

// anytime is the exact interval of the rows in the order of their times. What is expected of a row is by models of the rows
// before it. Why there is none is in the result.
func (j *judged) anytime(ctx context.Context, o *Options) (*Anytime, error) {
	out := &Anytime{}
	out.Low, out.High = j.costRange(o)
	if !(out.Low < out.High) {
		out.Why = "all costs are equal; --range states what losses can be"
		return out, nil
	}
	if low, high := slices.Min(j.loss), slices.Max(j.loss); o.Range != nil && (low < o.Range[0] || high > o.Range[1]) {
		out.Why = fmt.Sprintf("losses in the log are from %g to %g, beyond --range", low, high)
		return out, nil
	}
	if j.someUnknown() && (j.subject.logged || j.against.logged) {
		out.Why = "the probabilities of pairs that were not executed are not known"
		return out, nil
	}
	expected, first, err := j.expectFromPast(ctx)
	if err != nil {
		return nil, err
	}
	target, base := j.distributions(j.subject), j.distributions(j.against)
	for _, gain := range []bool{false, true} {
		s := anytime.DefaultSettings(out.Low, out.High)
		s.Gain, s.Alpha = gain, 1-o.Level
		q, err := anytime.New(s)
		if err != nil {
			return nil, err
		}
		for _, unit := range j.units() {
			rows := make([]anytime.Row, 0, len(unit))
			for _, n := range unit {
				of := func(list []float64) []float64 { return list[n*j.pairs() : (n+1)*j.pairs()] }
				// Costs are within the range but for rounding.
				row := anytime.Row{Executed: j.executed[n], Cost: min(out.High, max(out.Low, j.log.Cost[n])), Logged: of(j.logged), Target: of(target), Baseline: of(base)}
				if n >= first {
					row.Estimates = of(expected)
				}
				rows = append(rows, row)
			}
			if err := q.Add(rows...); err != nil {
				return &Anytime{Low: out.Low, High: out.High, Why: err.Error()}, nil
			}
		}
		if v := bounds(q.Interval()); gain {
			out.Gain = &v
		} else {
			out.Policy = &v
		}
	}
	return out, nil
}

func bounds(v anytime.Interval) models.Interval {
	return models.Interval{Mean: v.Mean, Low: v.Low, High: v.High}
}

// someUnknown reports whether some propensity is not known.
func (j *judged) someUnknown() bool { return slices.ContainsFunc(j.logged, math.IsNaN) }

// units are the rows that were drawn together, in the order of their first rows.
func (j *judged) units() [][]int {
	together := j.clusters()
	if together == nil {
		units := make([][]int, j.len())
		for n := range units {
			units[n] = []int{n}
		}
		return units
	}
	units := make([][]int, slices.Max(together)+1)
	for n, c := range together {
		units[c] = append(units[c], n)
	}
	return units
}

// expectFromPast is what models of the rows before expect, from row first on. Where the probabilities of pairs that were not
// executed are unknown, models are of no use to the interval.
func (j *judged) expectFromPast(ctx context.Context) (expected []float64, first int, err error) {
	if j.someUnknown() || j.users {
		return nil, j.len(), nil
	}
	e, err := offpolicy.EstimatorNamed(defaultEstimator())
	if err != nil {
		return nil, 0, err
	}
	return offpolicy.FitCostsOfPast(ctx, &j.log, offpolicy.Features{Values: j.features, Dim: j.dim}, offpolicy.DefaultFitSettings(e))
}

// costRange is from the least to the largest cost that is possible.
func (j *judged) costRange(o *Options) (low, high float64) {
	low, high = 0, 1
	if o.Range != nil {
		low, high = o.Range[0], o.Range[1]
	} else {
		low, high = min(low, slices.Min(j.loss)), max(high, slices.Max(j.loss))
	}
	return low + slices.Min(j.fees), high + slices.Max(j.fees)
}

// wider says that the range of losses follows from the log itself.
func (j *judged) wider(o *Options) string {
	if o.Range == nil && (slices.Min(j.loss) < 0 || slices.Max(j.loss) > 1) {
		return fmt.Sprintf("Losses in the log are from %g to %g, beyond 0 to 1: the exact interval is exact only if none can be beyond these. --range states what they can be.", slices.Min(j.loss), slices.Max(j.loss))
	}
	return ""
}
