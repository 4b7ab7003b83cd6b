package auto

import (
	"fmt"

	"pipe/models/policy"
)

// warm compares the older policy with the nested decisions at the price of a single lambda, or with the fixed pair where
// the guard falls back to it. It is used if it is better than both, by the bound and by the rule of the guard.
func (j *judge) warm(w *Warm, options []option, margin []float64, g policy.Guard) (*WarmReport, error) {
	rows, p := j.t.laterThan(w.Until), j.prices[0]
	r := &WarmReport{Rows: len(rows)}
	if len(rows) < 2 {
		r.Reason = "fewer than two held-out rows are later than the rows that it learned from and share no group or features with them"
		return r, nil
	}
	overNew, overFixed, constant := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i, n := range rows {
		a := w.Actions[j.t.place[j.t.held[n]]]
		constant[i] = p.constant(j.t, n)
		overFixed[i] = constant[i] - j.t.outcomeOf(n, a) - p.fees[a]
		overNew[i] = overFixed[i]
		if !g.Fallback {
			overNew[i] -= options[n].at(margin[n])
		}
	}
	var err error
	r.Gain, r.FixedGain = j.t.mean(overNew, rows), j.t.mean(overFixed, rows)
	if r.LowerBound, _, err = j.t.interval(overNew, rows, j.s.Confidence); err != nil {
		return nil, err
	}
	if r.FixedLowerBound, _, err = j.t.interval(overFixed, rows, j.s.Confidence); err != nil {
		return nil, err
	}
	against := policy.Guard{Confidence: j.s.Confidence, Rule: j.s.Rule, Rows: len(rows), FixedLoss: j.t.mean(constant, rows), Gain: r.FixedGain, LowerBound: r.FixedLowerBound}
	passes, reason := against.Verdict()
	switch {
	case !(r.LowerBound > 0):
		r.Reason = fmt.Sprintf("its lower bound against the new policy, %.4f, is not above 0", r.LowerBound)
	case !passes:
		r.Reason = "against the best fixed pair, " + reason
	default:
		r.Used, r.Reason = true, fmt.Sprintf("its lower bound against the new policy, %.4f, is above 0, and against the best fixed pair, %s", r.LowerBound, reason)
	}
	return r, nil
}
