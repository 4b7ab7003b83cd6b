package featurize

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var (
	errNotNumber = errors.New("is not a number")
	errTooLarge  = errors.New("is too large for a float32")
)

// parseNumber reads a decimal number: the nearest float64, as other programs
// read it. Spellings of infinity and NaN, and hexadecimal, are not numbers here.
func parseNumber(s string) (float64, error) {
	if v, ok := parsePlain(s); ok {
		return v, nil
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", rune(c)) {
			return 0, errNotNumber
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTooLarge
	case err != nil:
		return 0, errNotNumber
	}
	return v, nil
}

// powers of ten that a float64 holds exactly, as many as parsePlain needs.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parsePlain reads an optional minus, digits, and an optional point with
// digits, of at most 15 digits. Digits and power of ten are then exact as
// float64, and their quotient is rounded once: correctly.
func parsePlain(s string) (float64, bool) {
	digits, negative := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, negative = s[1:], true
	}
	if len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	var mantissa uint64
	point := -1
	for i := range len(digits) {
		c := digits[i] - '0'
		switch {
		case c <= 9:
			mantissa = mantissa*10 + uint64(c)
		case digits[i] == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	v, count := float64(mantissa), len(digits)
	if point >= 0 {
		count--
		v /= powersOfTen[min(count-point, len(powersOfTen)-1)]
	}
	if count == 0 || count > 15 {
		return 0, false
	}
	if negative {
		v = -v
	}
	return v, true
}

// parseFloat32 reads a number of a numeric column.
func parseFloat32(s string) (float32, error) {
	v, err := parseNumber(s)
	if err != nil {
		return 0, err
	}
	if f := float32(v); !math.IsInf(float64(f), 0) {
		return f, nil
	}
	return 0, errTooLarge
}

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
	const longest = 40
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return fmt.Sprintf("%q %v", text, why)
}
