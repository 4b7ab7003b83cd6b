package ledger

import (
	"errors"
	"fmt"
	"math"
)

// Day is the only Settings.Per: a day of UTC.
const Day = "day"

// Settings are an allowance.
type Settings struct {
	Cost float64 `yaml:"cost"` // most that is spent in a period
	Per  string  `yaml:"per"`  // Day
}

// Validate reports every problem.
func (s Settings) Validate() error {
	var problems []error
	if !(s.Cost > 0) || math.IsInf(s.Cost, 0) {
		problems = append(problems, fmt.Errorf("cost: %g is not a number above 0", s.Cost))
	}
	if s.Per != Day {
		problems = append(problems, fmt.Errorf("per: %q is not %s", s.Per, Day))
	}
	return errors.Join(problems...)
}
