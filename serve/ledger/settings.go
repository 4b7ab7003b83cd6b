package ledger

import (
	"errors"
	"fmt"
	"math"
)

// Settings are an allowance.
type Settings struct {
	Cost float64 `yaml:"cost"` // most that is spent in a period
	Per  Per     `yaml:"per"`  // Minute, Day or Month
}

// Validate reports every problem.
func (s Settings) Validate() error {
	var problems []error
	if !(s.Cost > 0) || math.IsInf(s.Cost, 0) {
		problems = append(problems, fmt.Errorf("cost: %g is not a number above 0", s.Cost))
	}
	if !s.Per.isKnown() {
		problems = append(problems, fmt.Errorf("per: %q is not %s, %s or %s", s.Per, Minute, Day, Month))
	}
	return errors.Join(problems...)
}
