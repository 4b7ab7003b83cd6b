package tabular

import (
	"fmt"
	"math"
	"strings"

	"pipe/internal/textfile"
)

// plainLevel is the normal form of a category: "490.0" becomes "490". Programs
// write the former if the column once had missing values.
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

// Hours of a week, the unit of the time in a table.
const (
	hourSeconds = 3600
	dayHours    = 24
	weekDays    = 7
	weekHours   = weekDays * dayHours
)

// hourOfWeek reduces seconds to 0..167. It uses float64, since float32 cannot
// represent all the seconds of a year.
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
