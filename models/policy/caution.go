package policy

import "math"

// Expected is an expected loss or cost of a file as a number. It is NaN for a pair of which the file says nothing: one that does not exist,
// or that a log executed too seldom.
func Expected(v float32) float64 {
	if v >= -ExcludedBelow {
		return math.NaN()
	}
	return float64(v)
}
