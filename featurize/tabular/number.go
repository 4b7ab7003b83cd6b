package tabular

import (
	"fmt"
	"math"
	"strings"

	"pipe/internal/textfile"
)

// plainLevel is the one spelling of a category: "490.0" is "490", which a
// program writes that has once seen a gap in the column.
func plainLevel(s string) string {
	whole, zeros, found := strings.Cut(s, ".")
	if !found || strings.Trim(zeros, "0") != "" || zeros == "" {
		return s
	}
	digits := strings.TrimPrefix(whole, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return s
	}
	return whole
}

// Hours of a week, the unit in which a table holds the time.
const (
	hourSeconds = 3600
	dayHours    = 24
	weekDays    = 7
	weekHours   = weekDays * dayHours
)

// hourOfWeek reduces seconds to 0..167, in float64: a year in seconds is
// beyond what a float32 counts.
func hourOfWeek(seconds float64) float32 {
	h := math.Mod(math.Floor(seconds/hourSeconds), weekHours)
	if h < 0 {
		h += weekHours
	}
	return float32(h)
}

func badCell(text string, why error) string {
	return fmt.Sprintf("%q %v", textfile.Short(text), why)
}
