package chatjson

import (
	"encoding/json"
	"maps"
	"slices"
)

// FieldError means that a field of a request has a wrong value. Param is its name, "" for the request as a whole.
type FieldError struct{ Param, Msg string }

func (e *FieldError) Error() string {
	if e.Param == "" {
		return e.Msg
	}
	return e.Param + " " + e.Msg
}

// Request is a request for a chat completion.
type Request struct {
	Model    string
	Messages json.RawMessage // nil: none
	Stream   bool
	Usage    bool   // the caller wants the usage at the end of a stream
	User     string // who the caller acts for; "" if the request does not say
	object   *object
}

// ReadRequest reads a request. The error is a *FieldError. The request keeps the text.
func ReadRequest(text []byte) (*Request, error) {
	o, err := parse(text)
	if err != nil {
		return nil, &FieldError{"", "the body is not a request for a chat completion: " + err.Error()}
	}
	r := &Request{object: o, Messages: o.get("messages")}
	if err := json.Unmarshal(orNull(o.get("model")), &r.Model); err != nil || r.Model == "" {
		return nil, &FieldError{"model", "must be the name of a model"}
	}
	if err := json.Unmarshal(orNull(o.get("stream")), &r.Stream); err != nil {
		return nil, &FieldError{"stream", "must be true or false"}
	}
	if r.Messages != nil && !hasElement(r.Messages) {
		return nil, &FieldError{"messages", "must be a list with at least one message"}
	}
	var options struct {
		Usage bool `json:"include_usage"`
	}
	if err := json.Unmarshal(orNull(o.get("stream_options")), &options); err != nil {
		return nil, &FieldError{"stream_options", "must be an object, whose include_usage is true or false"}
	}
	r.Usage = options.Usage
	// A user that is no string is passed on, because the service may accept it.
	_ = json.Unmarshal(orNull(o.get("user")), &r.User)
	return r, nil
}

// hasElement reports whether a value is a list with at least one element.
func hasElement(text []byte) bool {
	elements, _ := list(text)
	for range elements {
		return true
	}
	return false
}

// Len is the length of the request in bytes.
func (r *Request) Len() int { return len(r.object.text) }

// Tokens is an estimate of the length of the request in tokens: four bytes each.
func (r *Request) Tokens() int { return r.Len() / 4 }

// Whole returns the request for an answer that is not streamed.
func (r *Request) Whole() (*Request, error) {
	if !r.Stream {
		return r, nil
	}
	o := &object{text: r.object.text, fields: r.object.fields, close: r.object.close}
	o.set("stream", []byte("false"))
	if o.has("stream_options") {
		o.set("stream_options", []byte("null"))
	}
	return ReadRequest(o.bytes())
}

// Position says where in a conversation a message is inserted.
type Position string

// The positions.
const (
	First      Position = "first"       // before all messages
	BeforeLast Position = "before_last" // before the last message of the user
	Last       Position = "last"        // after all messages
)

// Addition is a message that is inserted into a conversation.
type Addition struct {
	Role, Text string
	At         Position
}

// Change says how a request is edited before it is sent to a service.
type Change struct {
	Model  string                     // name of the model at the service
	Add    *Addition                  // nil: none
	Usage  bool                       // ask for the usage at the end of a stream
	Fields map[string]json.RawMessage // default values for fields that the request does not have
}

// With returns the bytes of the request after a change. The request itself is not modified.
func (r *Request) With(c Change) []byte {
	o := &object{text: r.object.text, fields: r.object.fields, close: r.object.close}
	o.set("model", quote(c.Model))
	if c.Add != nil && r.Messages != nil {
		o.insert(o.find("messages").from, r.Messages, c.Add)
	}
	if c.Usage && r.Stream && !r.Usage {
		o.askForUsage()
	}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		if !o.hasField(name) && name != "stream_options" {
			o.set(name, c.Fields[name])
		}
	}
	return o.bytes()
}

// aliases are two names of the same field.
var aliases = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

// Alias returns the other name of a field, "" if it has none.
func Alias(name string) string { return aliases[name] }

// hasField reports whether a request has a field under one of its names.
func (o *object) hasField(name string) bool {
	alias := Alias(name)
	return o.has(name) || alias != "" && o.has(alias)
}

// askForUsage sets include_usage and keeps the other stream options.
func (o *object) askForUsage() {
	options, err := parseValid(orNull(o.get("stream_options")))
	if err != nil {
		o.set("stream_options", []byte(`{"include_usage":true}`))
		return
	}
	options.set("include_usage", []byte("true"))
	o.set("stream_options", options.bytes())
}

// insert inserts a message into the list of messages that begins at a position.
func (o *object) insert(from int, messages json.RawMessage, add *Addition) {
	text := slices.Concat([]byte(`{"role":`), quote(add.Role), []byte(`,"content":`), quote(add.Text), []byte("}"))
	all, _ := list(messages)
	elements, before := slices.Collect(all), 0
	switch add.At {
	case First:
	case Last:
		end := from + elements[len(elements)-1].end
		o.edits = append(o.edits, edit{end, end, append([]byte(","), text...)})
		return
	default:
		before = len(elements) - 1
		if last := lastUserMessage(messages, elements); last >= 0 {
			before = last
		}
	}
	at := from + elements[before].from
	o.edits = append(o.edits, edit{at, at, append(text, ',')})
}

// lastUserMessage returns the index of the last message with the role user, -1 if there is none.
func lastUserMessage(messages []byte, elements []field) int {
	for i, e := range slices.Backward(elements) {
		m, err := parseValid(messages[e.from:e.end])
		if err == nil && string(m.get("role")) == `"user"` {
			return i
		}
	}
	return -1
}
