// Package strictjson decodes untrusted JSON and refuses what encoding/json silently accepts: duplicate keys in an
// object, of which the last would win; keys that are a field but for their case, which would be read as that field; text
// that is not UTF-8, and lone surrogates, which would both become U+FFFD.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"pipe/internal/textfile"
)

// Unmarshal is json.Unmarshal with the checks of this package. Keys that are no field are ignored, also with lone surrogates in
// their values.
func Unmarshal(b []byte, dst any) error {
	if err := check(b, reflect.TypeOf(dst)); err != nil && json.Valid(b) {
		return err
	}
	return json.Unmarshal(b, dst) // its error describes the syntax error
}

// UnmarshalAll is Unmarshal for a text all of whose keys must be fields.
func UnmarshalAll(b []byte, dst any) error {
	if err := check(b, reflect.TypeOf(dst)); err != nil && json.Valid(b) {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is data after the JSON value")
	}
	return nil
}

// Check looks for duplicate keys, text that is not UTF-8, and lone surrogates. It does not check the syntax: its result
// for invalid JSON means nothing.
func Check(b []byte) error { return check(b, nil) }

// CheckKeys is Check for keys alone: strings that are values may be anything.
func CheckKeys(b []byte) error { return (&walk{text: b, lone: true}).all() }

// check is Check for a text that is decoded into a type.
func check(b []byte, into reflect.Type) error {
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	return (&walk{text: b, into: into}).all()
}

var errNotUTF8 = errors.New("is not UTF-8 text")

// all scans the whole text.
func (w *walk) all() error {
	for w.skip(); w.at < len(w.text); w.skip() {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// Object returns the values of a JSON object by key, after the checks of this package.
func Object(b []byte) (map[string]json.RawMessage, error) {
	if err := Check(b); err != nil && json.Valid(b) {
		return nil, err
	}
	return object(b)
}

func object(b []byte) (values map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errors.New("is not a JSON object")
	}
	return values, nil
}

// Values is Object for a reader of some of the values: the others may have lone surrogates. It uses a value after Check.
func Values(b []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(b) {
		return nil, errNotUTF8
	}
	if err := CheckKeys(b); err != nil && json.Valid(b) {
		return nil, err
	}
	return object(b)
}

// walk scans a JSON value token by token.
type walk struct {
	text []byte
	at   int
	lone bool         // values may have lone surrogates
	into reflect.Type // nil: any
	open []level
	free []map[string]struct{} // of closed objects, for reuse
}

// level is an open object or list.
type level struct {
	keys  map[string]struct{} // nil: a list
	value bool                // the next string is a value
	into  reflect.Type        // of the object or list; nil: any
	inner reflect.Type        // of its next value
	lone  bool                // its values are not read
	skips bool                // its next value is not read
}

// inList and inObject are the bytes that need handling in a list and in an object.
var inList, inObject = marked(`{}[]"`), marked(`{}[]":,`)

func marked(signs string) (m [256]bool) {
	for _, c := range []byte(signs) {
		m[c] = true
	}
	return m
}

// skip advances to the next byte that needs handling.
func (w *walk) skip() {
	signs := &inList
	if n := len(w.open); n > 0 && w.open[n-1].keys != nil {
		signs = &inObject
	}
	w.at = min(w.at, len(w.text)) // an unterminated string may end beyond it
	rest := w.text[w.at:]
	for i, c := range rest {
		if signs[c] {
			w.at += i
			return
		}
	}
	w.at = len(w.text)
}

func (w *walk) step() error {
	switch c := w.text[w.at]; c {
	case '{':
		w.open = append(w.open, level{keys: w.noKeys(), into: w.next(), lone: w.unread()})
	case '[':
		w.open = append(w.open, level{into: w.next(), lone: w.unread()})
	case '}', ']':
		w.close()
	case ':', ',':
		w.turn(c == ':')
	case '"':
		return w.str()
	}
	w.at++
	return nil
}

// next is the type of the object or list that begins.
func (w *walk) next() reflect.Type {
	n := len(w.open)
	if n == 0 {
		return visible(w.into)
	}
	switch l := w.open[n-1]; {
	case l.keys != nil:
		return visible(l.inner)
	case l.into != nil && (l.into.Kind() == reflect.Slice || l.into.Kind() == reflect.Array):
		return visible(l.into.Elem())
	}
	return nil
}

// unread reports whether the next value is not read, so that it may have lone surrogates.
func (w *walk) unread() bool {
	n := len(w.open)
	return w.lone || n > 0 && (w.open[n-1].lone || w.open[n-1].skips)
}

// turn sets whether a value or a key comes next.
func (w *walk) turn(value bool) {
	if n := len(w.open); n > 0 {
		w.open[n-1].value = value
	}
}

func (w *walk) noKeys() map[string]struct{} {
	if n := len(w.free); n > 0 {
		m := w.free[n-1]
		w.free = w.free[:n-1]
		return m
	}
	return map[string]struct{}{}
}

func (w *walk) close() {
	n := len(w.open)
	if n == 0 {
		return // invalid JSON, which the caller detects
	}
	if keys := w.open[n-1].keys; keys != nil && len(keys) < 1000 {
		clear(keys)
		w.free = append(w.free, keys)
	}
	w.open = w.open[:n-1]
}

// str scans a string, which is a key or a value.
func (w *walk) str() error {
	start := w.at
	escaped := false
	for w.at++; w.at < len(w.text) && w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	text := w.text[start:min(w.at, len(w.text))]
	n := len(w.open)
	value := n == 0 || w.open[n-1].keys == nil || w.open[n-1].value
	if escaped && !(value && w.unread()) {
		if half := halfPair(text); half != "" {
			return fmt.Errorf("%s is half of a surrogate pair, not a character%s", half, w.place())
		}
	}
	if value {
		return nil
	}
	return w.key(&w.open[n-1], text, escaped)
}

func (w *walk) key(l *level, text []byte, escaped bool) error {
	name := string(bytes.Trim(text, `"`))
	if escaped {
		if err := json.Unmarshal(text, &name); err != nil {
			return err
		}
	}
	var near string
	var field bool
	l.inner, near, field = inside(l.into, name)
	if l.skips = !field; near != "" {
		return fmt.Errorf("key %q must be spelt %q%s", textfile.Short(name), near, w.place())
	}
	if _, twice := l.keys[name]; twice {
		return fmt.Errorf("duplicate key %q in the object%s", textfile.Short(name), w.place())
	}
	if len(l.keys) >= textfile.MaxColumns {
		return fmt.Errorf("the object has more than %d keys, the most that are read", textfile.MaxColumns)
	}
	l.keys[name] = struct{}{}
	return nil
}

// place is the current line as part of an error; "" on the first one.
func (w *walk) place() string {
	if n := 1 + bytes.Count(w.text[:min(w.at, len(w.text))], []byte{'\n'}); n > 1 {
		return fmt.Sprintf(" (line %d of the text)", n)
	}
	return ""
}

// halfPair returns the first escape in a string that is a lone surrogate, "" if there is none.
func halfPair(text []byte) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] != 'u' {
			continue
		}
		r := escape(text, i-1)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if utf16.DecodeRune(r, escape(text, i+5)) == utf8.RuneError {
			return string(text[i-1 : i+5])
		}
		i += 10
	}
	return ""
}

// escape returns the number of the escape \uXXXX at a byte, -1 if there is none.
func escape(text []byte, at int) rune {
	if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
