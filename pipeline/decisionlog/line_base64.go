package decisionlog

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// Tables of base64: digitPairs[n] are the two digits of 12 bits, the first one in the low byte, and digitValues[i][c] is what
// digit c adds to a group of 24 bits as its digit i, with badDigit where c is none.
var digitPairs, digitValues = base64Tables()

const badDigit = 1 << 31

func base64Tables() (out [1 << 12]uint16, values [4][256]uint32) {
	for i := range out {
		out[i] = uint16(base64Digits[i>>6]) | uint16(base64Digits[i&63])<<8
	}
	for i := range values {
		for c := range values[i] {
			values[i][c] = badDigit
		}
		for v, c := range []byte(base64Digits) {
			values[i][c] = uint32(v) << (18 - 6*i)
		}
	}
	return out, values
}

// Three floats are a whole number of groups of base64: 12 bytes, 16 digits. Package encoding/base64 does one group at a time
// and needs 3 times as long.
const (
	blockFloats = 3
	blockDigits = 16
)

// appendFloats64 appends the base64 of the little-endian bytes of numbers.
func appendFloats64(dst []byte, list []float32) []byte {
	blocks := len(list) / blockFloats
	start := len(dst)
	dst = slices.Grow(dst, (blocks+1)*blockDigits)[:start+blocks*blockDigits]
	for out := dst[start:]; len(out) >= blockDigits && len(list) >= blockFloats; out, list = out[blockDigits:], list[blockFloats:] {
		// The bytes of a float in their order are its bits from the high ones on, once reversed.
		a := bits.ReverseBytes32(math.Float32bits(list[0]))
		b := bits.ReverseBytes32(math.Float32bits(list[1]))
		c := bits.ReverseBytes32(math.Float32bits(list[2]))
		binary.LittleEndian.PutUint64(out, twoGroups(a>>8, a<<16|b>>16))
		binary.LittleEndian.PutUint64(out[8:], twoGroups(b<<8|c>>24, c))
	}
	var raw [4 * (blockFloats - 1)]byte
	return base64.StdEncoding.AppendEncode(dst, floatBytes(raw[:0], list))
}

// twoGroups are the digits of two groups, each the low 24 bits of a number. The first digit is in the low byte.
func twoGroups(g, h uint32) uint64 {
	const low = 1<<12 - 1
	return uint64(digitPairs[g>>12&low]) | uint64(digitPairs[g&low])<<16 |
		uint64(digitPairs[h>>12&low])<<32 | uint64(digitPairs[h&low])<<48
}

// readFloats64 reads what appendFloats64 wrote, and appends it to dst; false if text is something else.
func readFloats64(dst []float32, text []byte) ([]float32, bool) {
	blocks := max(0, len(text)-1) / blockDigits // the last one may have padding
	start := len(dst)
	dst = slices.Grow(dst, (blocks+1)*blockFloats)[:start+blocks*blockFloats]
	bad := uint32(0)
	for out := dst[start:]; len(out) >= blockFloats && len(text) > blockDigits; out, text = out[blockFloats:], text[blockDigits:] {
		e, f, g, h := group(text), group(text[4:]), group(text[8:]), group(text[12:])
		bad |= e | f | g | h
		out[0] = math.Float32frombits(bits.ReverseBytes32(e<<8 | f>>16))
		out[1] = math.Float32frombits(bits.ReverseBytes32(f<<16 | g>>8))
		out[2] = math.Float32frombits(bits.ReverseBytes32(g<<24 | h))
	}
	if bad&badDigit != 0 {
		return dst[:start], false
	}
	var raw [4 * blockFloats]byte
	size, err := base64.StdEncoding.Strict().Decode(raw[:], text)
	if err != nil || size%4 != 0 {
		return dst[:start], false
	}
	for at := 0; at < size; at += 4 {
		dst = append(dst, math.Float32frombits(binary.LittleEndian.Uint32(raw[at:])))
	}
	return dst, true
}

// group is the number of four digits, with badDigit if one is none.
func group(text []byte) uint32 {
	c := (*[4]byte)(text)
	return digitValues[0][c[0]] | digitValues[1][c[1]] | digitValues[2][c[2]] | digitValues[3][c[3]]
}
