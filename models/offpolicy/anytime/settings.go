package anytime

import (
	"fmt"
	"math"
)

// Settings are those of a [Sequence].
type Settings struct {
	Low  float64 `json:"low"`  // the least cost that is possible
	High float64 `json:"high"` // the largest cost that is possible, above Low
	// Gain bounds cost(baseline) - cost(target), which is positive where the target is cheaper. Else the cost of the target
	// is bounded.
	Gain bool `json:"gain"`
	// Alpha is the probability, in (0, 1), that the interval is ever wrong; half of it on either side.
	Alpha float64 `json:"alpha"`
	// Truncation is k, at least 1. Estimates count up to k / weight, so that a term is at least -k. A larger k uses the
	// estimates more, and makes the interval of the first rows wider.
	Truncation float64 `json:"truncation"`
}

// DefaultSettings bound the cost of the target at 95% for costs from low to high.
func DefaultSettings(low, high float64) Settings {
	return Settings{Low: low, High: high, Alpha: 0.05, Truncation: 10}
}

// Validate returns the first setting that cannot be; nil if there is none.
func (s Settings) Validate() error {
	switch {
	case !finite(s.Low) || !finite(s.High) || !finite(s.High-s.Low) || s.Low >= s.High:
		return fmt.Errorf("anytime interval: costs from %v to %v are no range", s.Low, s.High)
	case !(s.Alpha > 0 && s.Alpha < 1):
		return fmt.Errorf("anytime interval: alpha %v is outside (0, 1)", s.Alpha)
	case !(s.Truncation >= 1) || !finite(s.Truncation):
		return fmt.Errorf("anytime interval: truncation %v is not a number from 1", s.Truncation)
	}
	return nil
}

// reward is a cost as a number from 0 (High) to 1 (Low).
func (s Settings) reward(cost float64) float64 { return (s.High - cost) / (s.High - s.Low) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
