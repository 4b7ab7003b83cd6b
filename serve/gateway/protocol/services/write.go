package services

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// object is a JSON object that is written; fields are sorted by name.
type object = map[string]any

// notes are changes in words, each once.
type notes struct{ changed []string }

func (n *notes) note(what string) {
	if !slices.Contains(n.changed, what) {
		n.changed = append(n.changed, what)
	}
}

// orWord returns a text, or another one if it is empty.
func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// addText adds a field if there is a value.
func addText(to object, name, s string) {
	if s != "" {
		to[name] = s
	}
}

// aKind names a kind of part in words.
func aKind(k middle.PartKind) string {
	words := map[middle.PartKind]string{middle.Image: "an image", middle.Audio: "a sound", middle.File: "a file"}
	return orWord(words[k], "a part of the kind "+string(k))
}

// lacking is the error for a field of the caller that a service has no place for.
func lacking(field, format string, args ...any) error {
	return &middle.FieldError{Param: field, Msg: fmt.Sprintf(format, args...)}
}

// asJSON encodes a value that was made of JSON.
func asJSON(v any) json.RawMessage {
	b, err := jsonedit.Marshal(v)
	if err != nil { // only raw values that are no JSON, which were checked when they were read
		panic(err)
	}
	return b
}

// newID is a random id.
func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + hex.EncodeToString(b[:])
}

// refuseForeign returns the first field of a request that cannot be translated.
func refuseForeign(m *middle.Request) error {
	for _, list := range [][]*middle.FieldError{m.Malformed, m.Foreign} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

// writeOptions adds the options that a service has a field for, by their names. Another one is an error that names it.
func writeOptions(m *middle.Request, fields map[string]string, to object) error {
	for _, o := range m.Options {
		field, ok := fields[o.Name]
		if !ok {
			return lacking(o.Field, "cannot be passed on: the protocol of the expert has no such field")
		}
		to[field] = o.Value
	}
	return nil
}

// problemOf reads the error in an event: a text, or an object with a message.
func problemOf(event []byte) middle.Problem {
	var body struct{ Error json.RawMessage }
	var e struct{ Message, Status, Code any }
	_ = json.Unmarshal(event, &body) // it was read before
	if json.Unmarshal(body.Error, &e) != nil {
		var text string
		_ = json.Unmarshal(body.Error, &text) // what is no text has no message
		return middle.Problem{Message: orWord(text, "the service sent an error")}
	}
	word := func(v any) string {
		s, _ := v.(string)
		return s
	}
	return middle.Problem{Message: orWord(word(e.Message), string(body.Error)), Code: orWord(word(e.Status), word(e.Code))}
}
