package protocol

import (
	"encoding/json"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// Messages is Anthropic's protocol.
var Messages Caller = messages{}

type messages struct{}

// Name is messages.
func (messages) Name() string { return "messages" }

// messagesRequest is a request that is edited in place.
type messagesRequest struct{ object *jsonedit.Object }

// ReadRequest reads a request as it came.
func (f messages) ReadRequest(text []byte) (*Incoming, error) {
	r, err := readIncoming(f, text, "a message", "messages")
	if err != nil {
		return nil, err
	}
	r.body = messagesRequest{r.object}
	var about struct {
		User string `json:"user_id"`
	}
	_ = json.Unmarshal(jsonedit.OrNull(r.Field("metadata")), &about) // another form is the service's to refuse
	r.User, r.Usage = about.User, true
	return r, nil
}

// readIncoming reads what the JSON requests of all protocols have in common. list names the field with the conversation, which
// must be a list with an element, "" for none.
func readIncoming(f Caller, text []byte, what, list string) (*Incoming, error) {
	o, err := jsonedit.Parse(text)
	if err != nil {
		return nil, &middle.FieldError{Msg: "the body is not a request for " + what + ": " + err.Error()}
	}
	in := &Incoming{Format: f, object: o}
	if err := json.Unmarshal(jsonedit.OrNull(o.Get("model")), &in.Model); err != nil || in.Model == "" {
		return nil, &middle.FieldError{Param: "model", Msg: "must be the name of a model"}
	}
	if err := json.Unmarshal(jsonedit.OrNull(o.Get("stream")), &in.Stream); err != nil {
		return nil, &middle.FieldError{Param: "stream", Msg: "must be true or false"}
	}
	if list != "" && count(o.Get(list)) == 0 {
		return nil, &middle.FieldError{Param: list, Msg: "must be a list with at least one message"}
	}
	return in, nil
}

// count is the number of elements of a list, 0 for what is none.
func count(list json.RawMessage) (n int) {
	elements, _ := jsonedit.List(list)
	for range elements {
		n++
	}
	return n
}

// With returns the bytes of the request after a change.
func (r messagesRequest) With(c chatjson.Change) []byte {
	o := r.object.Copy()
	o.Set("model", jsonedit.Quote(c.Model))
	switch {
	case c.Add == nil:
	case c.Add.Role == middle.User:
		list := o.Get("messages")
		o.Insert("messages", c.Add.At.Index(count(list), lastWords(list)), jsonedit.Encode(object{"role": "user", "content": c.Add.Text}))
	default:
		addSystem(o, "system", c.Add)
	}
	chatjson.Fill(o, c.Fields, c.Advice)
	return o.Bytes()
}

// lastWords is the index of the last message of the user that has no result of a tool: a result must follow its call at once.
// If there is none, it is the index after the last message.
func lastWords(list json.RawMessage) int {
	elements, _ := jsonedit.List(list)
	last, n := -1, 0
	for e := range elements {
		m, err := jsonedit.ParseValid(list[e.From:e.End])
		if err == nil && string(m.Get("role")) == `"user"` && !hasBlock(m.Get("content"), "tool_result") {
			last = n
		}
		n++
	}
	if last < 0 {
		return n
	}
	return last
}

// hasBlock reports whether a content has a block of a type.
func hasBlock(content json.RawMessage, kind string) bool {
	elements, _ := jsonedit.List(content)
	for e := range elements {
		if typeOf(content[e.From:e.End]) == kind {
			return true
		}
	}
	return false
}

// addSystem adds a text to the field that instructs the model: before what is there for the position first, else after it.
func addSystem(o *jsonedit.Object, field string, add *chatjson.Addition) {
	old := o.Get(field)
	var text string
	switch {
	case old == nil:
		o.Set(field, jsonedit.Quote(add.Text))
	case json.Unmarshal(old, &text) == nil:
		o.Set(field, jsonedit.Quote(join(add, text)))
	case count(old) > 0:
		index := count(old)
		if add.At == chatjson.First {
			index = 0
		}
		o.Insert(field, index, jsonedit.Encode(object{"type": "text", "text": add.Text}))
	default: // another form is the service's to refuse
	}
}

// join puts a text before or after another one.
func join(add *chatjson.Addition, old string) string {
	switch {
	case old == "":
		return add.Text
	case add.At == chatjson.First:
		return add.Text + "\n\n" + old
	}
	return old + "\n\n" + add.Text
}

// Error is the body of a response with an error.
func (messages) Error(p middle.Problem) []byte { return anthropicError(p) }

// ErrorEvent is the last event of a stream that failed.
func (messages) ErrorEvent(p middle.Problem) []byte {
	return []byte("event: error\ndata: " + string(anthropicError(p)) + "\n\n")
}
