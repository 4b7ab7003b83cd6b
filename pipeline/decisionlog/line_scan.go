package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// recordReader reads what lineWriter wrote. The caller checks the records against their policies.
type recordReader struct {
	record Record  // of the last line
	fields []bound // of the record
	// Set by newReusingReader only.
	texts repeats
	slots []Record
	next  int
}

func newRecordReader() *recordReader {
	r := &recordReader{}
	r.fields = bind(recordFields, reflect.ValueOf(&r.record).Elem())
	return r
}

// newReusingReader returns a reader that remembers the line before and reuses memory. A record and its features are valid until
// that many more lines were read. Its other lists and its texts are never overwritten.
func newReusingReader(lines int) *recordReader {
	r := newRecordReader()
	r.texts, r.slots = make(repeats, reflect.TypeFor[Record]().NumField()), make([]Record, lines+1)
	return r
}

func (r *recordReader) read(body []byte) (*Record, error) {
	slot := &Record{}
	if r.slots != nil {
		slot = &r.slots[r.next]
		r.next = (r.next + 1) % len(r.slots)
	}
	r.record.Features = slot.Features
	s := scan{rest: body, last: r.texts}
	s.structure(r.fields)
	if s.err == nil && len(s.rest) > 0 {
		s.fail("the end")
	}
	if s.err != nil {
		r.texts.forget()
	}
	*slot = r.record
	return slot, s.err
}

// scan reads keys and values in the order in which lineWriter wrote them, and keeps the first error.
type scan struct {
	rest []byte
	err  error
	last repeats
}

// structure reads the fields of a struct, without its closing brace. It replaces all their values.
func (s *scan) structure(fields []bound) {
	for i := range fields {
		f := &fields[i]
		if !f.same || s.last == nil {
			s.field(f)
			continue
		}
		if s.again(f.index) {
			continue
		}
		before := s.rest
		s.field(f)
		s.last.keep(f.index, before[:len(before)-len(s.rest)])
	}
}

func (s *scan) field(f *bound) {
	if f.later && !bytes.HasPrefix(s.rest, []byte(f.key)) {
		f.setNone()
		return
	}
	s.key(f.key)
	if f.known != nil {
		if s.has("null") {
			f.setNone()
			return
		}
		*f.known = true
	}
	s.value(f)
}

func (s *scan) value(f *bound) {
	switch at := f.at.(type) {
	case *string:
		*at = s.text()
	case *int:
		*at = int(s.int())
	case *int64:
		*at = s.int()
	case *bool:
		*at = s.bool()
	case *float64:
		*at = s.number(64)
	case *[]bool:
		*at = s.bools()
	case *[]float64:
		*at = s.numbers()
	case *[]float32:
		*at = s.floats(f, *at)
	default:
		s.structures(f)
	}
}

func (s *scan) fail(wanted string) {
	if s.err == nil {
		s.err = fmt.Errorf("expected %s at %q", wanted, s.rest[:min(len(s.rest), 40)])
	}
	s.rest = nil
}

// has skips a text if it comes next.
func (s *scan) has(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *scan) key(text string) {
	if !s.has(text) {
		s.fail(text)
	}
}

func (s *scan) text() string {
	if s.err != nil || len(s.rest) == 0 || s.rest[0] != '"' {
		s.fail("a string")
		return ""
	}
	end := 1
	for plain := true; end < len(s.rest); end++ {
		switch c := s.rest[end]; {
		case c == '\\':
			plain = false
			end++
		case c == '"' && plain:
			out := string(s.rest[1:end])
			s.rest = s.rest[end+1:]
			return out
		case c == '"':
			return s.escaped(end + 1)
		}
	}
	s.fail("the end of a string")
	return ""
}

func (s *scan) escaped(end int) (out string) {
	if err := json.Unmarshal(s.rest[:end], &out); err != nil {
		s.fail("a string")
		return ""
	}
	s.rest = s.rest[end:]
	return out
}

// token returns the text up to the next comma or closing bracket.
func (s *scan) token() []byte {
	end := 0
	for end < len(s.rest) && s.rest[end] != ',' && s.rest[end] != ']' && s.rest[end] != '}' {
		end++
	}
	out := s.rest[:end]
	s.rest = s.rest[end:]
	return out
}

func (s *scan) int() int64 {
	token := s.token()
	if len(token) == 1 && token[0] >= '0' && token[0] <= '9' {
		return int64(token[0] - '0')
	}
	v, err := strconv.ParseInt(string(token), 10, 64)
	if err != nil {
		s.fail("an integer")
	}
	return v
}

func (s *scan) bool() bool {
	switch {
	case s.has("true"):
		return true
	case !s.has("false"):
		s.fail("true or false")
	}
	return false
}

// number returns NaN for null.
func (s *scan) number(bits int) float64 {
	if s.has("null") {
		return math.NaN()
	}
	token := s.token()
	if len(token) == 1 && token[0] >= '0' && token[0] <= '9' { // such as most propensities
		return float64(token[0] - '0')
	}
	v, err := strconv.ParseFloat(string(token), bits)
	if err != nil || v != v || math.IsInf(v, 0) {
		s.fail("a number")
	}
	return v
}

// another reports whether a list has an element after the first n.
func (s *scan) another(n int) bool {
	if n == 0 {
		s.key("[")
	}
	if s.err != nil || s.has("]") {
		return false
	}
	if n > 0 {
		s.key(",")
	}
	return s.err == nil
}

func (s *scan) numbers() []float64 {
	out := make([]float64, 0, 16)
	for s.another(len(out)) {
		out = append(out, s.number(64))
	}
	return out
}

func (s *scan) bools() []bool {
	out := make([]bool, 0, 16)
	for s.another(len(out)) {
		out = append(out, s.bool())
	}
	return out
}

// floats returns nil for null, and NaN for an element that is null. Those in base64 are appended to memory.
func (s *scan) floats(f *bound, memory []float32) []float32 {
	if f.base64 {
		return s.features(memory[:0])
	}
	if s.has("null") {
		return nil
	}
	out := make([]float32, 0, 16)
	for s.another(len(out)) {
		out = append(out, float32(s.number(32)))
	}
	return out
}

// structures reads a structure or a list of them.
func (s *scan) structures(f *bound) {
	if f.parts != nil {
		s.structure(f.parts)
		s.key("}")
		return
	}
	list := reflect.ValueOf(f.at).Elem()
	list.SetZero() // the record before has what was there
	for s.another(list.Len()) {
		list.Grow(1)
		list.SetLen(list.Len() + 1)
		s.structure(bind(f.field.parts, list.Index(list.Len()-1)))
		s.key("}")
	}
}

// features appends to memory, which may be nil.
func (s *scan) features(memory []float32) []float32 {
	s.key(`"`)
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		s.fail("the end of the features")
		return nil
	}
	text := s.rest[:end]
	if len(text) == 0 {
		s.rest = s.rest[end+1:]
		return nil
	}
	if memory == nil {
		memory = make([]float32, 0, len(text)/4*3/4)
	}
	out, ok := readFloats64(memory, text)
	if !ok {
		s.fail("features in base64")
		return nil
	}
	s.rest = s.rest[end+1:]
	return out
}
