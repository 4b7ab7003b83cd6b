package decideapi

import (
	"strconv"
)

// cutFeatures reads the features of a body whose first member they are, in one pass: the general way takes three. rest is
// the body without them. ok is false for a body of another form, for one that is not valid JSON up to the end of the
// features, and for a number that is too large; the general way then says what is wrong.
func cutFeatures(raw []byte) (f features, rest []byte, ok bool) {
	b := space(raw)
	for _, token := range [...]string{"{", `"features"`, ":"} {
		if len(b) < len(token) || string(b[:len(token)]) != token {
			return f, nil, false
		}
		b = space(b[len(token):])
	}
	if len(b) == 0 || b[0] != '[' {
		return f, nil, false
	}
	f.values = make([]float32, 0, min(1024, 1+len(b)/8))
	if inner := space(b[1:]); len(inner) > 0 && inner[0] == '[' {
		b, ok = f.scanRows(inner)
	} else if f.values, b, ok = scanRow(f.values, b); ok {
		f.rows = 1
	}
	if !ok {
		return features{}, nil, false
	}
	return f, b, true
}

// scanRows reads rows of the same width up to the end of the list that they are in. rest is what follows it.
func (f *features) scanRows(b []byte) (rest []byte, ok bool) {
	for {
		before := len(f.values)
		if f.values, b, ok = scanRow(f.values, b); !ok {
			return nil, false
		}
		f.rows++
		if width := len(f.values) - before; width*f.rows != len(f.values) {
			return nil, false
		}
		switch {
		case len(b) > 0 && b[0] == ',':
			b = space(b[1:])
		case len(b) > 0 && b[0] == ']':
			return space(b[1:]), true
		default:
			return nil, false
		}
	}
}

// scanRow appends the numbers of a list that is not empty to dst. rest is what follows it, without white space.
func scanRow(dst []float32, b []byte) (_ []float32, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return dst, nil, false
	}
	b = space(b[1:])
	for {
		v, n := scanNumber(b)
		if n == 0 {
			return dst, nil, false
		}
		dst = append(dst, v)
		b = b[n:]
		if len(b) > 0 && b[0] != ',' && b[0] != ']' {
			b = space(b)
		}
		switch {
		case len(b) > 1 && b[0] == ',':
			b = b[1:]
			if b[0] <= ' ' {
				b = space(b)
			}
		case len(b) > 0 && b[0] == ']':
			return dst, space(b[1:]), true
		default:
			return dst, nil, false
		}
	}
}

// exactPowers are the powers of ten that float64 represents exactly.
var exactPowers = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// mostExact is the number up to which float64 represents every whole number.
const mostExact = 1 << 53

// scanNumber reads a JSON number at the start of b, of n bytes, and rounds it to float64 and then to float32, as
// textfile.ParseFloat32 does. n is 0 if there is none, or if it is too large.
func scanNumber(b []byte) (v float32, n int) {
	i, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, negative = 1, true
	}
	var mantissa uint64
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(b[i]-'0')
	}
	digits, exponent := i-first, 0
	if digits == 0 || digits > 1 && b[first] == '0' {
		return 0, 0
	}
	if i < len(b) && b[i] == '.' {
		point := i + 1
		for i = point; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(b[i]-'0')
		}
		if i == point {
			return 0, 0
		}
		digits, exponent = digits+i-point, point-i
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, width := scanExponent(b[i:])
		if width == 0 {
			return 0, 0
		}
		i, exponent = i+width, exponent+e
	}
	value, ok := 0.0, digits <= 19 && mantissa <= mostExact && exponent >= -22 && exponent <= 22
	switch {
	case !ok: // rarely: many digits, or far from 1
		var err error
		if value, err = strconv.ParseFloat(string(b[:i]), 64); err != nil {
			return 0, 0
		}
		negative = false
	case exponent < 0:
		value = float64(mantissa) / exactPowers[-exponent]
	default:
		value = float64(mantissa) * exactPowers[exponent]
	}
	if negative {
		value = -value
	}
	if v = float32(value); v-v != 0 {
		return 0, 0
	}
	return v, i
}

// scanExponent reads the exponent of a number, which begins with e. Beyond a thousand its value does not matter: the
// number is then read in another way.
func scanExponent(b []byte) (e, width int) {
	i, negative := 1, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		e = min(e*10+int(b[i]-'0'), 100000)
	}
	if i == first {
		return 0, 0
	}
	if negative {
		e = -e
	}
	return e, i
}
