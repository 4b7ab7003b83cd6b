package decideapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/textfile"
)

// cutFeatures is a fast path for a body whose first member is features. It reads them in one pass, where the general decoder
// needs three. rest is the body after them. ok is false for a body of another form, for invalid JSON up to the end of the
// features, and for a number that is too large: the general decoder then reads the body, or reports the error.
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

// scanRows reads rows of the same width up to the end of their list. rest is the text after the list.
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

// scanRow appends the numbers of a list, which must not be empty, to dst. rest is the text after the list and white space.
func scanRow(dst []float32, b []byte) (_ []float32, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return dst, nil, false
	}
	b = skipSpace(b[1:])
	for {
		v, n := textfile.QuickFloat32(b)
		if n == 0 {
			v, n = scanNumber(b) // rare: many digits, or a large exponent
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

// scanNumber reads the JSON number of n bytes at the start of b, and rounds it as textfile.ParseFloat32 does. n is 0 if
// there is no number, or if it is too large.
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
