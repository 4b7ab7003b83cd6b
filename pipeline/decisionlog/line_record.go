package decisionlog

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lineWriter writes records by the table of their fields.
type lineWriter struct {
	dst    []byte
	record Record
	fields []bound    // of the record
	lists  []listText // by the index of the field
}

// listText is a copy of a list of numbers, and its text. Most records have the same list as the record before, so its text is
// used again.
type listText struct {
	list []float64
	text []byte
}

func newLineWriter() *lineWriter {
	w := &lineWriter{}
	record := reflect.ValueOf(&w.record).Elem()
	w.fields, w.lists = bind(recordFields, record), make([]listText, record.NumField())
	return w
}

// append writes a record that was checked. The keys have a fixed order, which readers rely on.
func (w *lineWriter) append(dst []byte, r *Record) []byte {
	w.dst, w.record = dst, *r
	w.structure(w.fields)
	return seal(w.dst, len(dst))
}

// structure writes the fields of a struct, without the closing brace.
func (w *lineWriter) structure(fields []bound) {
	for i := range fields {
		f := &fields[i]
		none := (f.later || f.known != nil) && f.none()
		if none && f.later {
			continue
		}
		w.dst = append(w.dst, f.key...)
		if none {
			w.dst = append(w.dst, "null"...)
			continue
		}
		w.value(f)
	}
}

func (w *lineWriter) value(f *bound) {
	switch at := f.at.(type) {
	case *string:
		w.dst = appendText(w.dst, cut(*at))
	case *int:
		w.dst = strconv.AppendInt(w.dst, int64(*at), 10)
	case *int64:
		w.dst = strconv.AppendInt(w.dst, *at, 10)
	case *bool:
		w.dst = strconv.AppendBool(w.dst, *at)
	case *float64:
		w.dst = appendNumber(w.dst, *at, 64)
	case *[]bool:
		w.dst = appendList(w.dst, *at, func(dst []byte, i int) []byte { return strconv.AppendBool(dst, (*at)[i]) })
	case *[]float64:
		w.numbers(f, *at)
	case *[]float32:
		w.floats(f, *at)
	default:
		w.structures(f)
	}
}

func (w *lineWriter) numbers(f *bound, list []float64) {
	last := &w.lists[f.index]
	if len(last.text) == 0 || !slices.EqualFunc(last.list, list, sameBits) {
		last.list = append(last.list[:0], list...)
		last.text = appendList(last.text[:0], list, func(dst []byte, i int) []byte { return appendNumber(dst, list[i], 64) })
	}
	w.dst = append(w.dst, last.text...)
}

// sameBits distinguishes 0 from -0, whose texts differ.
func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// floats writes null for no list, and for the elements of pairs that are not available. Features are base64 of their
// little-endian bytes: a tenth of the time that digits need.
func (w *lineWriter) floats(f *bound, list []float32) {
	switch {
	case f.base64:
		w.dst = append(appendFloats64(append(w.dst, '"'), list), '"')
	case list == nil:
		w.dst = append(w.dst, "null"...)
	default:
		w.dst = appendList(w.dst, list, func(dst []byte, i int) []byte {
			if !w.record.Available[i] {
				return append(dst, "null"...)
			}
			return appendNumber(dst, float64(list[i]), 32)
		})
	}
}

// structures writes a structure or a list of them.
func (w *lineWriter) structures(f *bound) {
	if f.parts != nil {
		w.structure(f.parts)
		w.dst = append(w.dst, '}')
		return
	}
	list := reflect.ValueOf(f.at).Elem()
	w.dst = append(w.dst, '[')
	for i := range list.Len() {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.structure(bind(f.field.parts, list.Index(i)))
		w.dst = append(w.dst, '}')
	}
	w.dst = append(w.dst, ']')
}

// appendNumber writes null for NaN.
func appendNumber(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, "null"...)
	case v == 1:
		return append(dst, '1')
	case v == 0 && !math.Signbit(v):
		return append(dst, '0')
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

func appendList[T any](dst []byte, list []T, value func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(dst, i)
	}
	return append(dst, ']')
}

// appendText writes a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(strings.ToValidUTF8(s, "\uFFFD")) // of a string: never fails
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// floatBytes appends the little-endian bytes of numbers.
func floatBytes(dst []byte, list []float32) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}
