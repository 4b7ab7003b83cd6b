// Package strictjson decodes untrusted JSON and refuses what encoding/json silently accepts: duplicate keys in an
// object, of which the last would win; text that is not UTF-8, and lone surrogates, which would both become U+FFFD.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pipe/internal/textfile"
)

// Unmarshal is json.Unmarshal with the checks of this package. If dst is a pointer to a struct, keys of the outermost
// object that differ only in case are duplicates, since encoding/json maps them to the same field.
func Unmarshal(b []byte, dst any) error {
	t := reflect.TypeOf(dst)
	wrong := Check(b, t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct)
	if wrong != nil && json.Valid(b) {
		return wrong
	}
	return json.Unmarshal(b, dst) // its error describes the syntax error
}

// Check looks for duplicate keys, text that is not UTF-8, and lone surrogates. With fold, keys of the outermost object
// that differ only in case are duplicates. It does not check the syntax: its result for invalid JSON means nothing.
func Check(b []byte, fold bool) error {
	if !utf8.Valid(b) {
		return errors.New("is not UTF-8 text")
	}
	w := walk{text: b, fold: fold}
	for w.skip(); w.at < len(b); w.skip() {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// Object returns the values of a JSON object by key, after the checks of this package.
func Object(b []byte) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := Unmarshal(b, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("is not a JSON object")
	}
	return object, nil
}

// walk scans a JSON value token by token.
type walk struct {
	text []byte
	at   int
	fold bool
	open []level
	free []map[string]struct{} // of closed objects, for reuse
}

// level is an open object or list.
type level struct {
	keys  map[string]struct{} // nil: a list
	value bool                // the next string is a value
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
		w.open = append(w.open, level{keys: w.noKeys()})
	case '[':
		w.open = append(w.open, level{})
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
	if escaped {
		if half := halfPair(text); half != "" {
			return fmt.Errorf("%s is half of a surrogate pair, not a character%s", half, w.place())
		}
	}
	n := len(w.open)
	if n == 0 || w.open[n-1].keys == nil || w.open[n-1].value {
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
	same := name
	if w.fold && len(w.open) == 1 {
		same = strings.ToLower(name)
	}
	if _, twice := l.keys[same]; twice {
		return fmt.Errorf("duplicate key %q in the object%s", textfile.Short(name), w.place())
	}
	if len(l.keys) >= textfile.MaxColumns {
		return fmt.Errorf("the object has more than %d keys, the most that are read", textfile.MaxColumns)
	}
	l.keys[same] = struct{}{}
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
