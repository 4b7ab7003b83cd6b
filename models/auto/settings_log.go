package auto

import (
	"fmt"

	"pipe/costs"
)

// How the outcomes of a log count when members are fitted.
const (
	WeightsNone = "none" // all alike
	WeightsIPS  = "ips"  // by 1/probability, at most Settings.Clip: as if every pair had been executed on a random sample of the rows
)

// Deployed is the policy that a learned one must be better than.
type Deployed struct {
	Name    string // for the report
	Actions []int  // its decisions on the training rows, in their order
}

// check reports decisions that are not those of the training rows.
func (d *Deployed) check(t *costs.Tensor, rows []int) error {
	if len(d.Actions) != len(rows) {
		return fmt.Errorf("%d decisions of the deployed policy for %d training rows", len(d.Actions), len(rows))
	}
	for i, a := range d.Actions {
		if a < 0 || a >= t.Actions.Len() || !t.Actions.Available(a) {
			return fmt.Errorf("the deployed policy decides for action %d on training row %d, which does not exist", a, i)
		}
	}
	return nil
}
