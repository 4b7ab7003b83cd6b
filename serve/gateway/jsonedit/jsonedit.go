// Package jsonedit reads and edits JSON objects in place. Only the edited values change: unknown fields, the order of keys
// and the digits of numbers keep their bytes. A gateway needs that, because it must pass on fields of services that it does
// not know.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"pipe/internal/strictjson"
)

// FieldError means that a field of an object cannot be used. Param is its name, "" for the object as a whole.
type FieldError struct{ Param, Msg string }

func (e *FieldError) Error() string {
	if e.Param == "" {
		return e.Msg
	}
	return e.Param + " " + e.Msg
}

// Object is a JSON object as text. Fields can be read and set. Everything else keeps its bytes.
type Object struct {
	Text   []byte
	Fields []Field
	close  int // position of the closing brace
	edits  []edit
}

// Field is a key of an object, or an element of a list without a name, and the position of its value in the text.
type Field struct {
	Name      string
	From, End int
}

// edit replaces the bytes from..end of the text.
type edit struct {
	from, end int
	with      []byte
}

// errNotObject is the error for JSON that is not an object.
var errNotObject = errors.New("is not a JSON object")

// Parse reads an object. Text that is not JSON or not UTF-8 is an error. So are repeated keys at any depth, because two
// readers could understand them differently. The object keeps the text.
func Parse(text []byte) (*Object, error) {
	if !json.Valid(text) {
		var v any
		return nil, json.Unmarshal(text, &v) // it describes the syntax error
	}
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	return ParseValid(text)
}

// ErrRepeated is wrapped by the error for an answer with a repeated key.
var ErrRepeated = errors.New("repeats a key")

// ParseLenient reads an object in the answer of another program, which may contain lone surrogates. Repeated keys at any depth
// are an ErrRepeated.
func ParseLenient(text []byte) (*Object, error) {
	if !json.Valid(text) {
		return nil, errors.New("is not JSON")
	}
	if err := strictjson.CheckKeys(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRepeated, err)
	}
	return ParseValid(text)
}

// Decode reads an object in the answer of another program, as [ParseLenient] does, into a struct.
func Decode[T any](text []byte) (*T, error) {
	if _, err := ParseLenient(text); err != nil {
		return nil, err
	}
	v := new(T)
	return v, json.Unmarshal(text, v)
}

// ParseValid finds the fields of valid JSON.
func ParseValid(text []byte) (*Object, error) {
	at := strictjson.SkipSpace(text, 0)
	if text[at] != '{' {
		return nil, errNotObject
	}
	o := &Object{Text: text}
	for at = strictjson.SkipSpace(text, at+1); text[at] != '}'; at = strictjson.SkipSpace(text, at) {
		if text[at] == ',' {
			at = strictjson.SkipSpace(text, at+1)
		}
		end := value(text, at)
		var name string
		if err := json.Unmarshal(text[at:end], &name); err != nil {
			return nil, err
		}
		from := strictjson.SkipSpace(text, strictjson.SkipSpace(text, end)+1) // after the colon
		at = value(text, from)
		o.Fields = append(o.Fields, Field{name, from, at})
	}
	o.close = at
	return o, nil
}

// Find returns the field of a name, nil if there is none.
func (o *Object) Find(name string) *Field {
	i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Fields[i]
}

// Get returns the bytes of a value, nil if the object does not have the field or if it is null.
func (o *Object) Get(name string) json.RawMessage {
	f := o.Find(name)
	if f == nil || string(o.Text[f.From:f.End]) == "null" {
		return nil
	}
	return o.Text[f.From:f.End:f.End]
}

// Has reports whether the object has a field, even with the value null.
func (o *Object) Has(name string) bool { return o.Find(name) != nil }

// Set sets the value of a field, which must be valid JSON. A field that the object does not have is added at its end.
// Each field may be set once.
func (o *Object) Set(name string, value []byte) {
	if f := o.Find(name); f != nil {
		o.edits = append(o.edits, edit{f.From, f.End, value})
		return
	}
	var with []byte
	if len(o.Fields) > 0 || slices.ContainsFunc(o.edits, func(e edit) bool { return e.from == o.close }) {
		with = append(with, ',')
	}
	o.edits = append(o.edits, edit{o.close, o.close, slices.Concat(with, Quote(name), []byte(":"), value)})
}

// Remove removes a field with its comma. It does nothing if the object does not have it. Nothing else may be edited.
func (o *Object) Remove(name string) {
	i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return
	}
	from, end := bytes.IndexByte(o.Text, '{')+1, o.Fields[i].End
	if i > 0 {
		from = o.Fields[i-1].End
	} else if len(o.Fields) > 1 {
		end += bytes.IndexByte(o.Text[end:], ',') + 1
	}
	o.edits = append(o.edits, edit{from, end, nil})
}

// Insert inserts an element into the list of a field, before the element with an index; len inserts it at the end. The field
// must be a list that is not empty.
func (o *Object) Insert(name string, index int, element []byte) {
	f := o.Find(name)
	elements, _ := List(o.Text[f.From:f.End])
	i, end := 0, 0
	for e := range elements {
		if i == index {
			at := f.From + e.From
			o.edits = append(o.edits, edit{at, at, append(slices.Clone(element), ',')})
			return
		}
		i, end = i+1, f.From+e.End
	}
	o.edits = append(o.edits, edit{end, end, append([]byte(","), element...)})
}

// Copy returns the object without edits. The text is shared.
func (o *Object) Copy() *Object { return &Object{Text: o.Text, Fields: o.Fields, close: o.close} }

// Bytes returns the text with all edits.
func (o *Object) Bytes() []byte {
	edits := slices.Clone(o.edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	n := len(o.Text)
	for _, e := range edits {
		n += len(e.with)
	}
	out := make([]byte, 0, n)
	at := 0
	for _, e := range edits {
		out = append(append(out, o.Text[at:e.from]...), e.with...)
		at = e.end
	}
	return append(out, o.Text[at:]...)
}

// Quote encodes a string as JSON without escaping the special characters of HTML.
func Quote(text string) []byte { return Encode(text) }

// OrNull returns a value as JSON, null for none.
func OrNull(v json.RawMessage) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

// List iterates over the positions of the elements of a list. ok is false for another value. The text must be valid JSON.
func List(text []byte) (elements iter.Seq[Field], ok bool) {
	first := strictjson.SkipSpace(text, 0)
	if first >= len(text) || text[first] != '[' {
		return func(func(Field) bool) {}, false
	}
	return func(yield func(Field) bool) {
		for at := strictjson.SkipSpace(text, first+1); text[at] != ']'; at = strictjson.SkipSpace(text, at) {
			if text[at] == ',' {
				at = strictjson.SkipSpace(text, at+1)
			}
			end := value(text, at)
			if !yield(Field{From: at, End: end}) {
				return
			}
			at = end
		}
	}, true
}

// value returns the end of the value that begins at a position of valid JSON.
func value(text []byte, at int) int {
	switch text[at] {
	case '"':
		return quoted(text, at)
	case '{', '[':
		return nested(text, at)
	}
	for at < len(text) && bytes.IndexByte([]byte(",]} \n\t\r"), text[at]) < 0 {
		at++
	}
	return at
}

// quoted returns the end of a string.
func quoted(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// nested returns the end of an object or a list.
func nested(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = quoted(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
}

// Encode encodes a value without escaping the special characters of HTML. It panics for one that has no JSON, so it is only for
// values that were made here or read as JSON.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
