package oip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
)

// jsonElements is the value of "data", which must be valid JSON: a list of all elements in row-major order, or lists that are
// nested like the shape.
type jsonElements []byte

func (e jsonElements) read(t *onnx.Tensor, n int, m *memory) error {
	if len(e) == 0 || e[0] != '[' {
		return errors.New("data is not a list")
	}
	if n > len(e)/2 { // each takes a character and a comma or bracket
		return fmt.Errorf("data has fewer elements than the %d of its shape", n)
	}
	r := jsonReader{text: e, count: n, shape: t.Shape}
	if err := r.prepare(t, m); err != nil {
		return err
	}
	if err := r.list(0); err != nil {
		return err
	}
	if r.read != n {
		return fmt.Errorf("data has %d elements, its shape has %d", r.read, n)
	}
	return nil
}

// jsonReader reads lists of elements.
type jsonReader struct {
	text     []byte
	at       int // position in text: of a bracket, an element, or white space in front of one
	shape    []int64
	count    int // elements in all
	read     int // elements so far
	store    func(i int, value []byte) error
	float32s []byte // where elements of FP32 are stored; nil for other datatypes
}

// prepare allocates the elements of t, and selects how they are stored.
func (r *jsonReader) prepare(t *onnx.Tensor, m *memory) error {
	if t.DType == onnx.String {
		t.Text = make([]string, r.count)
		r.store = storeText(t.Text)
		return nil
	}
	if t.DType == onnx.Float16 {
		return errors.New("FP16 has no form in JSON: send it as binary data")
	}
	t.Raw = m.bytes(r.count * t.DType.Size())
	switch t.DType {
	case onnx.Bool:
		r.store = storeBool(t.Raw)
	case onnx.Float32:
		r.store, r.float32s = storeFloat32(t.Raw), t.Raw
	case onnx.Float64:
		r.store = storeFloat64(t.Raw)
	case onnx.Uint8, onnx.Uint16, onnx.Uint32, onnx.Uint64:
		r.store = storeUint(t.Raw, t.DType.Size())
	default:
		r.store = storeInt(t.Raw, t.DType.Size())
	}
	return nil
}

// list reads a list at a depth of nesting. Nested lists must have the sizes of the shape. A list without nesting has all
// elements.
func (r *jsonReader) list(depth int) error {
	r.at++
	entries, nested := 0, false
	for {
		r.at = strictjson.SkipSpace(r.text, r.at)
		switch c := r.text[r.at]; {
		case c == ']':
			r.at++
			if (depth > 0 || nested) && (depth >= len(r.shape) || int64(entries) != r.shape[depth]) {
				return fmt.Errorf("data has a list of %d entries that is %d deep, which is not shape %v", entries, depth+1, r.shape)
			}
			return nil
		case c == ',':
			r.at++
			continue
		case c == '[':
			if depth+1 >= len(r.shape) || entries > 0 && !nested {
				return fmt.Errorf("data is nested otherwise than shape %v", r.shape)
			}
			nested = true
			if err := r.list(depth + 1); err != nil {
				return err
			}
		default:
			if nested || depth > 0 && depth != len(r.shape)-1 {
				return fmt.Errorf("data is nested otherwise than shape %v", r.shape)
			}
			if err := r.element(); err != nil {
				return err
			}
		}
		entries++
	}
}

// element reads one element: a number, a string, true, false, or a value that no datatype accepts.
func (r *jsonReader) element() error {
	if r.read == r.count {
		return fmt.Errorf("data has more elements than the %d of its shape", r.count)
	}
	if r.float32s != nil {
		if v, n := textfile.QuickFloat32(r.text[r.at:]); n > 0 {
			binary.LittleEndian.PutUint32(r.float32s[4*r.read:], math.Float32bits(v))
			r.at += n
			r.read++
			return nil
		}
	}
	rest, end := r.text[r.at:], 0
	switch rest[0] {
	case '{':
		return fmt.Errorf("element %d is an object", r.read)
	case '"':
		end = textEnd(rest)
	default:
		for c := rest[end]; c != ',' && c != ']' && c > ' '; c = rest[end] {
			end++
		}
	}
	if err := r.store(r.read, rest[:end]); err != nil {
		return err
	}
	r.at += end
	r.read++
	return nil
}

// textEnd returns the position after the string that b begins with.
func textEnd(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func storeFloat32(dst []byte) func(int, []byte) error {
	return func(i int, value []byte) error {
		v, err := float(value, 32, i)
		if err == nil {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
		return err
	}
}

func storeFloat64(dst []byte) func(int, []byte) error {
	return func(i int, value []byte) error {
		v, err := float(value, 64, i)
		if err == nil {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		}
		return err
	}
}

// float parses a number and rounds it to the given number of bits.
func float(value []byte, bits, i int) (float64, error) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return 0, wrongElement(i, value, "a number")
	}
	v, err := strconv.ParseFloat(asString(value), bits)
	if err != nil {
		return 0, fmt.Errorf("element %d is %s, which is too large for FP%d", i, shortened(value), bits)
	}
	return v, nil
}

func storeInt(dst []byte, size int) func(int, []byte) error {
	return func(i int, value []byte) error {
		v, err := strconv.ParseInt(asString(value), 10, 8*size)
		if err != nil {
			return wrongElement(i, value, fmt.Sprintf("an integer of INT%d", 8*size))
		}
		putInteger(dst, size, i, uint64(v))
		return nil
	}
}

func storeUint(dst []byte, size int) func(int, []byte) error {
	return func(i int, value []byte) error {
		v, err := strconv.ParseUint(asString(value), 10, 8*size)
		if err != nil {
			return wrongElement(i, value, fmt.Sprintf("an integer of UINT%d", 8*size))
		}
		putInteger(dst, size, i, v)
		return nil
	}
}

// putInteger writes the lowest size bytes of v as element i.
func putInteger(dst []byte, size, i int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(dst[size*i:size*(i+1)], b[:])
}

func storeBool(dst []byte) func(int, []byte) error {
	return func(i int, value []byte) error {
		switch string(value) {
		case "true":
			dst[i] = 1
		case "false":
			dst[i] = 0
		default:
			return wrongElement(i, value, "true or false")
		}
		return nil
	}
}

func storeText(dst []string) func(int, []byte) error {
	return func(i int, value []byte) error {
		if value[0] != '"' {
			return wrongElement(i, value, "a text")
		}
		text := value[1 : len(value)-1]
		if bytes.IndexByte(text, '\\') >= 0 {
			var err error
			if text, err = jsontext.AppendUnquote(nil, value); err != nil {
				return fmt.Errorf("element %d is not a string: %w", i, err)
			}
		}
		s, err := checkText(string(text), i)
		dst[i] = s
		return err
	}
}

func wrongElement(i int, value []byte, want string) error {
	return fmt.Errorf("element %d is %s, not %s", i, shortened(value), want)
}

// shortened shortens a value for an error message.
func shortened(value []byte) string {
	const most = 40
	if len(value) > most {
		return string(bytes.ToValidUTF8(value[:most], nil)) + "..."
	}
	return string(value)
}
