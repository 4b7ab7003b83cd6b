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

// lineWriter writes records by the table of their fields. One of newLineWriter remembers the text of the lists of numbers: most
// records state the same as the last one.
type lineWriter struct {
	dst       []byte
	available []bool     // of the record
	lists     []listText // by the index of the field
}

// listText is a list, which the caller's slice does not share, and its text.
type listText struct {
	list []float64
	text []byte
}

func newLineWriter() *lineWriter {
	return &lineWriter{lists: make([]listText, emptyRecord.NumField())}
}

// append writes a record that was checked. The keys have a fixed order, which readRecord relies on.
func (b *lineWriter) append(dst []byte, r *Record) []byte {
	b.dst, b.available = dst, r.Available
	b.fields(recordFields, reflect.ValueOf(r).Elem())
	return seal(b.dst, len(dst))
}

func (b *lineWriter) fields(fields []field, in reflect.Value) {
	for i := range fields {
		f := &fields[i]
		none := f.none(in)
		if none && f.later {
			continue
		}
		b.dst = append(b.dst, f.key...)
		if none {
			b.dst = append(b.dst, "null"...)
			continue
		}
		b.value(f, in.Field(f.index))
	}
}

func (b *lineWriter) value(f *field, v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *string:
		b.dst = appendText(b.dst, cut(*at))
	case *int:
		b.dst = strconv.AppendInt(b.dst, int64(*at), 10)
	case *int64:
		b.dst = strconv.AppendInt(b.dst, *at, 10)
	case *bool:
		b.dst = strconv.AppendBool(b.dst, *at)
	case *float64:
		b.dst = appendNumber(b.dst, *at, 64)
	case *[]bool:
		b.dst = appendList(b.dst, *at, func(dst []byte, i int) []byte { return strconv.AppendBool(dst, (*at)[i]) })
	case *[]float64:
		b.numbers(f, *at)
	case *[]float32:
		b.floats(f, *at)
	default:
		b.structures(f, v)
	}
}

func (b *lineWriter) numbers(f *field, list []float64) {
	last := &listText{}
	if b.lists != nil {
		last = &b.lists[f.index]
	}
	if len(last.text) > 0 && slices.EqualFunc(last.list, list, sameBits) {
		b.dst = append(b.dst, last.text...)
		return
	}
	from := len(b.dst)
	b.dst = appendList(b.dst, list, func(dst []byte, i int) []byte { return appendNumber(dst, list[i], 64) })
	if b.lists != nil {
		last.list, last.text = append(last.list[:0], list...), append(last.text[:0], b.dst[from:]...)
	}
}

// sameBits tells 0 from -0, which have different texts.
func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// floats writes null for no list, and for the elements of pairs that are not available. Features are base64 of their
// little-endian bytes: a tenth of the time that digits need.
func (b *lineWriter) floats(f *field, list []float32) {
	switch {
	case f.base64:
		b.dst = append(appendFloats64(append(b.dst, '"'), list), '"')
	case list == nil:
		b.dst = append(b.dst, "null"...)
	default:
		b.dst = appendList(b.dst, list, func(dst []byte, i int) []byte {
			if !b.available[i] {
				return append(dst, "null"...)
			}
			return appendNumber(dst, float64(list[i]), 32)
		})
	}
}

// structures writes a structure or a list of them.
func (b *lineWriter) structures(f *field, v reflect.Value) {
	if v.Kind() == reflect.Struct {
		b.fields(f.parts, v)
		b.dst = append(b.dst, '}')
		return
	}
	b.dst = append(b.dst, '[')
	for i := range v.Len() {
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.structures(f, v.Index(i))
	}
	b.dst = append(b.dst, ']')
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
