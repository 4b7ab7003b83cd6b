package protocol

import (
	"encoding/json"
	"slices"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// object is a JSON object that is written.
type object = middle.Object

// fill adds default values for fields that a request does not have. alias returns the other name of a field, "" for none; nil: no
// field has one.
func fill(body object, fields map[string]json.RawMessage, alias func(string) string) {
	for name, v := range fields {
		_, has := body[name]
		if alias != nil && !has {
			_, has = body[alias(name)]
		}
		if !has {
			body[name] = v
		}
	}
}

// namedEvent is an event with its name, as Anthropic's protocol and OpenAI's Responses have it.
func namedEvent(name string, data object) []byte {
	return slices.Concat([]byte("event: "+name+"\ndata: "), jsonedit.Encode(data), []byte("\n\n"))
}

// one is a list of one event.
func one(e middle.Event) []middle.Event { return []middle.Event{e} }
