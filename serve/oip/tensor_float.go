package oip

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// tens are the powers of ten that float64 has exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// quickFloat32 reads the number that b begins with, rounded to the nearest float32, and its length. Numbers without an
// exponent, with at most 19 digits and of a usual size are read, unless they lie too close to the middle between two float32;
// for all others the length is 0, and strconv reads them. After the number there must be another byte.
//
// The digits are an integer w, and the number is w / 10^k. float64(w) / 10^k differs from it by at most two units in the last
// place of float64, and rounding that to float32 is right unless a middle lies within this distance.
func quickFloat32(b []byte) (v float32, length int) {
	i := 0
	negative := b[0] == '-'
	if negative {
		i = 1
	}
	start := i
	var w uint64
	w, i = digits(b, i, 0)
	count, k := i-start, 0
	if i < len(b) && b[i] == '.' {
		point := i + 1
		w, i = digits(b, point, w)
		k = i - point
		count += k
	}
	if count == 0 || count > 19 || i >= len(b) || b[i] != ',' && b[i] != ']' && b[i] > ' ' {
		return 0, 0
	}
	d := float64(w) / tens[k] // k is at most 19
	if w == 0 {
		d = 0
	} else if d < 0x1p-100 || d > 0x1p100 {
		return 0, 0
	}
	const half, near = 1 << 28, 8 // float64 has 29 more bits than float32
	if rest := int64(math.Float64bits(d) & (1<<29 - 1)); rest > half-near && rest < half+near {
		return 0, 0
	}
	if negative {
		d = -d
	}
	return float32(d), i
}

// digits appends the decimal digits of b from i on to w. It returns the position after them. With more than 19 digits w has no
// meaning.
func digits(b []byte, i int, w uint64) (uint64, int) {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		n := digitsAtOnce(x)
		if n < 8 {
			break
		}
		w = w*100_000_000 + eightDigits(x)
		i += 8
	}
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		w = w*10 + uint64(c)
	}
	return w, i
}

// digitsAtOnce is how many of the eight characters of x, from the lowest byte on, are digits before the first that is none.
func digitsAtOnce(x uint64) int {
	const high, digit = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	wrong := (x&high ^ digit) | ((x+0x0606060606060606)&high ^ digit) // in each byte not 0 for what is no digit
	return bits.TrailingZeros64(wrong) / 8
}

// eightDigits is the number of eight digits, of which the lowest byte is the first. Neighbours are joined to pairs, pairs to
// groups of four, and these to the number.
func eightDigits(x uint64) uint64 {
	x -= 0x3030303030303030
	x = x*10 + x>>8
	const pairs = 0x000000ff000000ff
	return ((x&pairs)*(100+1_000_000<<32) + (x>>16&pairs)*(1+10_000<<32)) >> 32
}
