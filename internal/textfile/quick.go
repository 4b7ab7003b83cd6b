package textfile

import "math"

// QuickFloat32 reads the JSON number that b begins with, rounded to the nearest float32, and its length. Numbers with at most
// 19 digits and of a usual size are read, unless they lie too close to the middle between two float32, where it matters
// whether a number is rounded to float64 first; for all others, and what is no number, the length is 0. After the number there
// must be a comma, a ] or white space.
//
// The digits are an integer w, and the number is w / 10^k. float64(w) / 10^k differs from it by at most two units in the last
// place of float64, and rounding that to float32 is right unless a middle lies within this distance.
func QuickFloat32(b []byte) (v float32, length int) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i = 1
	}
	start := i
	var w uint64
	w, i = digits(b, i, 0)
	whole, k := i-start, 0
	if i < len(b) && b[i] == '.' {
		point := i + 1
		w, i = digits(b, point, w)
		if k = i - point; k == 0 {
			return 0, 0
		}
	}
	if whole == 0 || whole > 1 && b[start] == '0' || whole+k > 19 {
		return 0, 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		var e int
		e, i = exponent(b, i+1)
		k -= e
	}
	if i >= len(b) || b[i] != ',' && b[i] != ']' && b[i] > ' ' {
		return 0, 0
	}
	d := float64(w)
	switch {
	case k >= 0 && k < len(powersOfTen):
		d /= powersOfTen[k]
	case k < 0 && -k < len(powersOfTen):
		d *= powersOfTen[-k]
	default:
		return 0, 0
	}
	const half, near = 1 << 28, 8 // float64 has 29 more bits than float32
	if rest := math.Float64bits(d) & (1<<29 - 1); rest-(half-near) < 2*near || d > 0x1p100 {
		return 0, 0
	}
	if negative {
		d = -d
	}
	return float32(d), i
}

// exponent reads an exponent of up to three digits, with or without a sign, from i on. It returns the position after it, len(b)
// if there is none.
func exponent(b []byte, i int) (e, end int) {
	negative := i < len(b) && b[i] == '-'
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
	}
	w, end := digits(b, i, 0)
	if end == i || end > i+3 {
		return 0, len(b)
	}
	if negative {
		return -int(w), end
	}
	return int(w), end
}

// digits appends the decimal digits of b from i on to w. It returns the position after them. With more than 19 digits w has no
// meaning.
func digits(b []byte, i int, w uint64) (uint64, int) {
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		w = w*10 + uint64(b[i]-'0')
	}
	return w, i
}
