// Package chatjson reads and edits requests for chat completions, and reads the answers. Requests are edited in place: only
// the edited values change.
package chatjson

import (
	"encoding/json"
	"slices"

	"pipe/experts/fields"
	"pipe/serve/gateway/jsonedit"
)

// FieldError means that a field of a request has a wrong value.
type FieldError = jsonedit.FieldError

// Request is a request for a chat completion. Package protocol has the requests of all protocols.
type Request struct {
	Model    string
	Messages json.RawMessage // nil: none
	Stream   bool
	Usage    bool   // the caller wants the usage at the end of a stream
	User     string // who the caller acts for; "" if the request does not say
	object   *jsonedit.Object
}

// ReadRequest reads a request. The error is a *FieldError. The request keeps the text.
func ReadRequest(text []byte) (*Request, error) {
	o, err := jsonedit.Parse(text)
	if err != nil {
		return nil, &FieldError{Msg: "the body is not a request for a chat completion: " + err.Error()}
	}
	r := &Request{object: o, Messages: o.Get("messages")}
	if err := json.Unmarshal(jsonedit.OrNull(o.Get("model")), &r.Model); err != nil || r.Model == "" {
		return nil, &FieldError{Param: "model", Msg: "must be the name of a model"}
	}
	if err := json.Unmarshal(jsonedit.OrNull(o.Get("stream")), &r.Stream); err != nil {
		return nil, &FieldError{Param: "stream", Msg: "must be true or false"}
	}
	if r.Messages != nil && !hasElement(r.Messages) {
		return nil, &FieldError{Param: "messages", Msg: "must be a list with at least one message"}
	}
	var options struct {
		Usage bool `json:"include_usage"`
	}
	if err := json.Unmarshal(jsonedit.OrNull(o.Get("stream_options")), &options); err != nil {
		return nil, &FieldError{Param: "stream_options", Msg: "must be an object, whose include_usage is true or false"}
	}
	r.Usage = options.Usage
	// A user that is no string is passed on, because the service may accept it.
	_ = json.Unmarshal(jsonedit.OrNull(o.Get("user")), &r.User)
	return r, nil
}

// hasElement reports whether a value is a list with at least one element.
func hasElement(text []byte) bool {
	elements, _ := jsonedit.List(text)
	for range elements {
		return true
	}
	return false
}

// Position says where in a conversation a message is inserted.
type Position string

// The positions.
const (
	First      Position = "first"       // before all messages
	BeforeLast Position = "before_last" // before the last message of the user
	Last       Position = "last"        // after all messages
)

// Addition is what advice adds to a request: a message that is inserted into the conversation, or fields.
type Addition struct {
	Role, Text string
	At         Position
	Fields     *fields.Set // nil: it is a message
}

// Change says how a request is edited before it is sent to a service.
type Change struct {
	Model  string                     // name of the model at the service
	Add    *Addition                  // nil: none
	Usage  bool                       // ask for the usage at the end of a stream
	Fields map[string]json.RawMessage // default values for fields that the request does not have
	Advice fields.Fields              // of the request, over Fields, where the caller has not set them
}

// With returns the bytes of the request after a change. The request itself is not modified.
func (r *Request) With(c Change) []byte {
	o := r.object.Copy()
	o.Set("model", jsonedit.Quote(c.Model))
	if c.Add != nil && r.Messages != nil {
		insert(o, r.Messages, c.Add)
	}
	if c.Usage && r.Stream && !r.Usage {
		askForUsage(o)
	}
	Fill(o, c.Fields, c.Advice)
	return o.Bytes()
}

// Alias returns the other name of a field, "" if it has none.
func Alias(name string) string { return fields.Alias(name) }

// hasField reports whether a request has a field under one of its names.
func hasField(o *jsonedit.Object, name string) bool {
	alias := Alias(name)
	return o.Has(name) || alias != "" && o.Has(alias)
}

// askForUsage sets include_usage and keeps the other stream options.
func askForUsage(o *jsonedit.Object) {
	options, err := jsonedit.ParseValid(jsonedit.OrNull(o.Get("stream_options")))
	if err != nil {
		o.Set("stream_options", []byte(`{"include_usage":true}`))
		return
	}
	options.Set("include_usage", []byte("true"))
	o.Set("stream_options", options.Bytes())
}

// insert inserts a message into the list of messages.
func insert(o *jsonedit.Object, messages json.RawMessage, add *Addition) {
	all, _ := jsonedit.List(messages)
	elements := slices.Collect(all)
	text := slices.Concat([]byte(`{"role":`), jsonedit.Quote(add.Role), []byte(`,"content":`), jsonedit.Quote(add.Text), []byte("}"))
	o.Insert("messages", add.At.Index(len(elements), lastUserMessage(messages, elements)), text)
}

// Index returns the index at which a message is inserted into a list of n, at least 1, messages. lastUser is the index of
// the last message of the user, -1 if there is none.
func (p Position) Index(n, lastUser int) int {
	switch {
	case p == First:
		return 0
	case p == Last:
		return n
	case lastUser >= 0:
		return lastUser
	}
	return n - 1
}

// lastUserMessage returns the index of the last message with the role user, -1 if there is none.
func lastUserMessage(messages []byte, elements []jsonedit.Field) int {
	for i, e := range slices.Backward(elements) {
		m, err := jsonedit.ParseValid(messages[e.From:e.End])
		if err == nil && string(m.Get("role")) == `"user"` {
			return i
		}
	}
	return -1
}
