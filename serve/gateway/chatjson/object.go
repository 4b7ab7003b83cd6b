// Package chatjson reads and edits the JSON of chat completions in place. Only the edited values change: unknown fields,
// the order of keys and the digits of numbers keep their bytes. A gateway needs that, because it must pass on fields of
// services that it does not know.
package chatjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"pipe/internal/strictjson"
)

// object is a JSON object as text. Fields can be read and set. Everything else keeps its bytes.
type object struct {
	text   []byte
	fields []field
	close  int // position of the closing brace
	edits  []edit
}

// field is a key of the object and the position of its value.
type field struct {
	name      string
	from, end int
}

// edit replaces the bytes from..end of the text.
type edit struct {
	from, end int
	with      []byte
}

// errNotObject is the error for JSON that is not an object.
var errNotObject = errors.New("is not a JSON object")

// parse reads an object. Text that is not JSON or not UTF-8 is an error. So are repeated keys at any depth, because two
// readers could understand them differently. The object keeps the text.
func parse(text []byte) (*object, error) {
	if !json.Valid(text) {
		var v any
		return nil, json.Unmarshal(text, &v) // it describes the syntax error
	}
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	return parseValid(text)
}

// ErrRepeated is wrapped by the error for an answer with a repeated key.
var ErrRepeated = errors.New("repeats a key")

// parseLenient reads an object in the answer of another program, which may contain lone surrogates. Repeated keys at any depth
// are an ErrRepeated.
func parseLenient(text []byte) (*object, error) {
	if !json.Valid(text) {
		return nil, errors.New("is not JSON")
	}
	if err := strictjson.CheckKeys(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRepeated, err)
	}
	return parseValid(text)
}

// parseValid finds the fields of valid JSON.
func parseValid(text []byte) (*object, error) {
	at := strictjson.SkipSpace(text, 0)
	if text[at] != '{' {
		return nil, errNotObject
	}
	o := &object{text: text}
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
		o.fields = append(o.fields, field{name, from, at})
	}
	o.close = at
	return o, nil
}

// find returns the field of a name, nil if there is none.
func (o *object) find(name string) *field {
	i := slices.IndexFunc(o.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &o.fields[i]
}

// get returns the bytes of a value, nil if the object does not have the field or if it is null.
func (o *object) get(name string) json.RawMessage {
	f := o.find(name)
	if f == nil || string(o.text[f.from:f.end]) == "null" {
		return nil
	}
	return o.text[f.from:f.end:f.end]
}

// has reports whether the object has a field, even with the value null.
func (o *object) has(name string) bool { return o.find(name) != nil }

// set sets the value of a field, which must be valid JSON. A field that the object does not have is added at its end.
// Each field may be set once.
func (o *object) set(name string, value []byte) {
	if f := o.find(name); f != nil {
		o.edits = append(o.edits, edit{f.from, f.end, value})
		return
	}
	var with []byte
	if len(o.fields) > 0 || slices.ContainsFunc(o.edits, func(e edit) bool { return e.from == o.close }) {
		with = append(with, ',')
	}
	o.edits = append(o.edits, edit{o.close, o.close, slices.Concat(with, quote(name), []byte(":"), value)})
}

// bytes returns the text with all edits.
func (o *object) bytes() []byte {
	edits := slices.Clone(o.edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	n := len(o.text)
	for _, e := range edits {
		n += len(e.with)
	}
	out := make([]byte, 0, n)
	at := 0
	for _, e := range edits {
		out = append(append(out, o.text[at:e.from]...), e.with...)
		at = e.end
	}
	return append(out, o.text[at:]...)
}

// quote encodes a string as JSON without escaping the special characters of HTML.
func quote(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string has no error
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// orNull returns a value as JSON, null for none.
func orNull(v json.RawMessage) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

// list iterates over the positions of the elements of a list. ok is false for another value. The text must be valid JSON.
func list(text []byte) (elements iter.Seq[field], ok bool) {
	first := strictjson.SkipSpace(text, 0)
	if first >= len(text) || text[first] != '[' {
		return func(func(field) bool) {}, false
	}
	return func(yield func(field) bool) {
		for at := strictjson.SkipSpace(text, first+1); text[at] != ']'; at = strictjson.SkipSpace(text, at) {
			if text[at] == ',' {
				at = strictjson.SkipSpace(text, at+1)
			}
			end := value(text, at)
			if !yield(field{from: at, end: end}) {
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
