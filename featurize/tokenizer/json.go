package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// UnsupportedError names a part of a tokenizer.json that would change the ids
// and that this package does not implement.
type UnsupportedError struct {
	Path string // place in the file, such as pre_tokenizer.pretokenizers[0].pattern
	What string // the component, option or field
}

// Error returns `normalizer.type: "Nmt" is not supported`.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not supported", e.Path, e.What)
}

// Hint says what to do about it.
func (e *UnsupportedError) Hint() string {
	return "docs/tokenizers.md lists the parts of a tokenizer.json that are supported: choose a model whose tokenizer uses only these"
}

// FormatError is an error of a tokenizer.json that is inconsistent or violates
// its format.
type FormatError struct {
	Path string // place in the file; "" for the whole file
	Msg  string
}

// Error returns `model.vocab: msg`.
func (e *FormatError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// deepest is the deepest nesting of components; no real tokenizer exceeds it.
const deepest = 8

// object is a JSON object that is read field by field, so that no field is
// overlooked. It keeps its first error, or that of the objects inside it.
type object struct {
	path   string
	depth  int
	fields map[string]json.RawMessage
	err    *error // shared by all objects of a file
}

// newObject reads an object; anything else is an error.
func newObject(path string, depth int, raw json.RawMessage, err *error) *object {
	o := &object{path: path, depth: depth, err: err}
	if depth > deepest {
		o.fail("", "components nest deeper than %d", deepest)
		return o
	}
	o.decode("", raw, &o.fields)
	return o
}

// at is the path of a field.
func (o *object) at(key string) string {
	switch {
	case key == "":
		return o.path
	case o.path == "":
		return key
	}
	return o.path + "." + key
}

func (o *object) keep(err error) {
	if *o.err == nil {
		*o.err = err
	}
}

func (o *object) fail(key, format string, args ...any) {
	o.keep(&FormatError{Path: o.at(key), Msg: fmt.Sprintf(format, args...)})
}

func (o *object) unsupported(key, format string, args ...any) {
	o.keep(&UnsupportedError{Path: o.at(key), What: fmt.Sprintf(format, args...)})
}

// decode reads a value into a Go variable.
func (o *object) decode(key string, raw json.RawMessage, to any) {
	if err := json.Unmarshal(raw, to); err != nil {
		o.fail(key, "%v", err)
	}
}

// take removes a field and returns its value, nil if it is absent or null.
func (o *object) take(key string) json.RawMessage {
	raw := o.fields[key]
	delete(o.fields, key)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// need is take for a required field.
func (o *object) need(key string) json.RawMessage {
	raw := o.take(key)
	if raw == nil {
		o.fail(key, "is missing")
	}
	return raw
}

// field reads a required field.
func field[T any](o *object, key string) (v T) {
	if raw := o.need(key); raw != nil {
		o.decode(key, raw, &v)
	}
	return v
}

// fieldOr reads an optional field, which may be absent or null.
func fieldOr[T any](o *object, key string, otherwise T) T {
	raw := o.take(key)
	if raw == nil {
		return otherwise
	}
	var v T
	o.decode(key, raw, &v)
	return v
}

// kind reads the field "type".
func (o *object) kind() string { return field[string](o, "type") }

// object returns the object in a field, nil if it is absent or null.
func (o *object) object(key string) *object {
	raw := o.take(key)
	if raw == nil {
		return nil
	}
	return newObject(o.at(key), o.depth+1, raw, o.err)
}

// objects returns the objects of a required list.
func (o *object) objects(key string) []*object {
	return o.list(key, o.need(key))
}

func (o *object) list(key string, raw json.RawMessage) []*object {
	var elements []json.RawMessage
	if raw == nil {
		return nil
	}
	o.decode(key, raw, &elements)
	list := make([]*object, 0, len(elements))
	for i, element := range elements {
		list = append(list, newObject(fmt.Sprintf("%s[%d]", o.at(key), i), o.depth+1, element, o.err))
		if *o.err != nil {
			return nil
		}
	}
	return list
}

// ignore removes fields that have no effect on ids.
func (o *object) ignore(keys ...string) {
	for _, key := range keys {
		delete(o.fields, key)
	}
}

// done rejects the fields that were not read.
func (o *object) done() {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if o.take(key) != nil {
			o.unsupported(key, "this field of %s", o.owner())
		}
	}
}

func (o *object) owner() string {
	if o.path == "" {
		return "a tokenizer"
	}
	return o.path
}

// parsePattern reads {"String": ...} or {"Regex": ...}.
func parsePattern(o *object) (pattern string, regex bool) {
	p := o.object("pattern")
	if p == nil {
		o.fail("pattern", "is missing")
		return "", false
	}
	defer p.done()
	if _, regex = p.fields["Regex"]; regex {
		return field[string](p, "Regex"), true
	}
	return field[string](p, "String"), false
}
