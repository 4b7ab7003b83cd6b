package textfile

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Why a string is not accepted as a number.
var (
	ErrNotNumber = errors.New("is not a number")
	ErrTooLarge  = errors.New("is too large for a float32")
)

// ParseNumber reads a decimal number such as -12, 0.5 or 1e-3 and returns the nearest float64, as other programs do.
// Spellings of infinity and NaN, hexadecimal numbers, underscores or commas between digits, and surrounding space are
// refused. The error is ErrNotNumber or ErrTooLarge.
func ParseNumber(s string) (float64, error) {
	if v, ok := parsePlain(s); ok {
		return v, nil
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", rune(c)) {
			return 0, ErrNotNumber
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, ErrTooLarge
	case err != nil:
		return 0, ErrNotNumber
	}
	return v, nil
}

// ParseFloat32 is ParseNumber rounded to float32: a number is rounded to float64 and then to float32, as in pandas,
// polars and NumPy. If it exceeds the range of float32, the error is ErrTooLarge.
func ParseFloat32(s string) (float32, error) {
	v, err := ParseNumber(s)
	if err != nil {
		return 0, err
	}
	if f := float32(v); !math.IsInf(float64(f), 0) {
		return f, nil
	}
	return 0, ErrTooLarge
}

// powersOfTen are those that float64 represents exactly.
var powersOfTen = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parsePlain reads an optional minus, digits, and an optional point with digits, of at most 15 digits. The digits and
// the power of ten are then exact as float64, and their quotient is rounded only once, which is correct rounding.
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
