package protocol

import (
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
	for _, c := range n.changed {
		if c == what {
			return
		}
	}
	n.changed = append(n.changed, what)
}

// orWord returns a text, or another one if it is empty.
func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// addText and addBool add a field if there is a value.
func addText(to object, name, s string) {
	if s != "" {
		to[name] = s
	}
}

// addBool adds a field if there is a value.
func addBool(to object, name string, b *bool) {
	if b != nil {
		to[name] = *b
	}
}

// fill adds default values for fields that a request does not have.
func fill(body object, fields map[string]json.RawMessage, alias func(string) string) {
	for name, v := range fields {
		_, has := body[name]
		if other := alias(name); other != "" && !has {
			_, has = body[other]
		}
		if !has {
			body[name] = v
		}
	}
}

// aKind names a kind of part in words.
func aKind(k middle.PartKind) string {
	switch k {
	case middle.Image:
		return "an image"
	case middle.Audio:
		return "a sound"
	case middle.File:
		return "a file"
	}
	return "a part of the kind " + string(k)
}

// addList adds a list that is not empty.
func addList(to object, name string, list []object) {
	if len(list) > 0 {
		to[name] = list
	}
}

// orFinish is a reason, or stop for one that is not known.
func orFinish(f middle.Finish) middle.Finish {
	if f == "" {
		return middle.Stop
	}
	return f
}

// namedEvent is an event with its name, as Anthropic's protocol and OpenAI's Responses have it.
func namedEvent(name string, data object) []byte {
	return slices.Concat([]byte("event: "+name+"\ndata: "), asJSON(data), []byte("\n\n"))
}

// one is a list of one event.
func one(e middle.Event) []middle.Event { return []middle.Event{e} }

// asJSON encodes a value without the escapes of HTML. It must have no values that JSON lacks.
func asJSON(v any) json.RawMessage {
	b, err := jsonedit.Marshal(v)
	if err != nil { // only raw values that are no JSON, which were checked when they were read
		panic(err)
	}
	return b
}

// writeOptions adds the options that the list has a field for. Another one is an error that names the caller's field.
func writeOptions(m *middle.Request, list []option, to map[string]any) error {
	for _, o := range m.Options {
		known := false
		for _, l := range list {
			if l.name == o.Name {
				to[l.field], known = o.Value, true
			}
		}
		if !known {
			return &middle.FieldError{Param: o.Field, Msg: "cannot be passed on: the protocol of the expert has no such field"}
		}
	}
	return nil
}

// lacking is the error for a part or a field that an expert's protocol lacks.
func lacking(field, format string, args ...any) error {
	return &middle.FieldError{Param: field, Msg: fmt.Sprintf(format, args...)}
}
