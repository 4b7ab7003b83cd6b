package auto

import (
	"fmt"

	"pipe/costs"
)

// Warm is an older policy, a candidate beside the learned one.
type Warm struct {
	Lambda  float64 // multiplier of the advice fees that it is for
	Until   int64   // time of the latest row that it learned from, in microseconds
	Actions []int   // its decisions on the training rows, in their order
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
