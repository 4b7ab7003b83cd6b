package decideapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/textfile"
)

// cutFeatures reads the features of a body whose first member they are, in one pass: the general way takes three. rest is
// the body without them. ok is false for a body of another form, for one that is not valid JSON up to the end of the
// features, and for a number that is too large; the general way then says what is wrong.
func cutFeatures(raw []byte) (f features, rest []byte, ok bool) {
	b := skipSpace(raw)
	for _, token := range [...]string{"{", `"features"`, ":"} {
		if len(b) < len(token) || string(b[:len(token)]) != token {
			return f, nil, false
		}
		b = skipSpace(b[len(token):])
	}
	if len(b) == 0 || b[0] != '[' {
		return f, nil, false
	}
	f.values = make([]float32, 0, min(1024, 1+len(b)/8))
	if inner := skipSpace(b[1:]); len(inner) > 0 && inner[0] == '[' {
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
			b = skipSpace(b[1:])
		case len(b) > 0 && b[0] == ']':
			return skipSpace(b[1:]), true
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
	b = skipSpace(b[1:])
	for {
		v, n := textfile.QuickFloat32(b)
		if n == 0 {
			v, n = scanNumber(b) // rarely: many digits, or far from 1
		}
		if n == 0 {
			return dst, nil, false
		}
		dst = append(dst, v)
		b = b[n:]
		if len(b) > 0 && b[0] != ',' && b[0] != ']' {
			b = skipSpace(b)
		}
		switch {
		case len(b) > 1 && b[0] == ',':
			b = b[1:]
			if b[0] <= ' ' {
				b = skipSpace(b)
			}
		case len(b) > 0 && b[0] == ']':
			return dst, skipSpace(b[1:]), true
		default:
			return dst, nil, false
		}
	}
}

// scanNumber reads a JSON number at the start of b, of n bytes, and rounds it as textfile.ParseFloat32 does. n is 0 if there
// is none, or if it is too large.
func scanNumber(b []byte) (v float32, n int) {
	for n < len(b) && inNumber[b[n]] {
		n++
	}
	v, err := textfile.ParseFloat32(string(b[:n]))
	if err != nil || !jsontext.Value(b[:n]).IsValid() {
		return 0, 0
	}
	return v, n
}
