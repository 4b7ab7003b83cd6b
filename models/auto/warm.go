package auto

import (
	"fmt"

	"pipe/costs"
	"pipe/models/policy"
)

// Warm is an older policy, a candidate beside the learned one.
type Warm struct {
	Lambda  float64 // multiplier of the advice fees that it is for
	Until   int64   // time of the latest row that it learned from, in microseconds
	Actions []int   // its decisions on the training rows, in their order
}

// WarmReport compares an older policy with what is exported otherwise, on held-out rows that neither learned from. Gains
// are mean costs per row, positive where the older policy is cheaper; bounds are one-sided, with the confidence of the
// guard.
type WarmReport struct {
	Rows            int     `json:"rows"` // complete rows later than all that the older policy learned from, none of them with an earlier row that belongs to it
	Gain            float64 `json:"gain"` // over what is exported otherwise
	LowerBound      float64 `json:"lower_bound"`
	FixedGain       float64 `json:"fixed_gain"` // over the best fixed pair
	FixedLowerBound float64 `json:"fixed_lower_bound"`
	Used            bool    `json:"used"`
	Reason          string  `json:"reason"`
}

// check reports decisions that are not those of the training rows.
func (w *Warm) check(t *costs.Tensor, rows []int) error {
	switch {
	case t.Times == nil:
		return &costs.DataError{Column: "time", Msg: "is missing: which rows an older policy did not learn from is told by their times"}
	case len(w.Actions) != len(rows):
		return fmt.Errorf("%d decisions of an older policy for %d training rows", len(w.Actions), len(rows))
	}
	for i, a := range w.Actions {
		if a < 0 || a >= t.Actions.Len() || !t.Actions.Available(a) {
			return fmt.Errorf("an older policy decides for action %d on training row %d, which does not exist", a, i)
		}
	}
	return nil
}

// warm compares the older policy with the nested decisions at the price of a single lambda, or with the fixed pair where
// the guard falls back to it. It is used if it is better than both, by the bound and by the rule of the guard.
func (j *judge) warm(w *Warm, options []option, margin []float64, g policy.Guard) (*WarmReport, error) {
	rows, p := j.t.laterThan(w.Until), j.prices[0]
	r := &WarmReport{Rows: len(rows)}
	if len(rows) < 2 {
		r.Reason = "fewer than two held-out rows are later than the rows that it learned from"
		return r, nil
	}
	overNew, overFixed := make([]float64, len(rows)), make([]float64, len(rows))
	for i, n := range rows {
		row, fixed := j.t.held[n], p.constant(j.t, n)
		a := w.Actions[row]
		overFixed[i] = fixed - float64(j.t.data.Losses(row)[a]) - p.fees[a]
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
	against := policy.Guard{Confidence: j.s.Confidence, Rule: j.s.Rule, Rows: len(rows), Gain: r.FixedGain, LowerBound: r.FixedLowerBound}
	passes, reason := against.Verdict()
	switch {
	case !(r.LowerBound > 0):
		r.Reason = fmt.Sprintf("its lower bound against the new policy, %.4f, is not above 0", r.LowerBound)
	case !passes:
		r.Reason = "against the best fixed pair, " + reason
	default:
		r.Used, r.Reason = true, fmt.Sprintf("its lower bounds against the new policy, %.4f, and the best fixed pair, %.4f, are above 0", r.LowerBound, r.FixedLowerBound)
	}
	return r, nil
}

// laterThan are the held-out rows, as positions in held, that are later than a time and belong to no row up to it.
func (t *table) laterThan(until int64) (out []int) {
	known := make([]bool, t.clusters.Len())
	for row, n := range t.rows {
		if t.full.Times[n] <= until {
			known[t.clusters.Of[row]] = true
		}
	}
	for n, row := range t.held {
		if !known[t.clusters.Of[row]] {
			out = append(out, n)
		}
	}
	return out
}
