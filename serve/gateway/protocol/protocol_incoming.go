package protocol

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"pipe/experts/fields"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// Incoming is a request of a caller as it came. It is safe for concurrent use once it was read.
type Incoming struct {
	Format Caller
	Model  string
	Stream bool
	Usage  bool   // the caller wants the usage of a stream, which other services have to be asked for
	User   string // who the caller acts for; "" if the request does not say

	body     editable
	previous string // the response that the caller's conversation goes on from, where its items took the place of its id
	object   *jsonedit.Object
	once     sync.Once
	middle   *middle.Request
}

// editable is a request whose bytes stay the same but for a change.
type editable interface {
	With(c chatjson.Change) []byte
}

// With returns the bytes of the request after a change. The request itself is not modified.
func (in *Incoming) With(c chatjson.Change) []byte { return in.body.With(c) }

// Len is the length of the request in bytes.
func (in *Incoming) Len() int { return len(in.object.Text) }

// bytesPerToken is about how many bytes a token has.
const bytesPerToken = 4

// Tokens is an estimate of the tokens of the request, by its length.
func (in *Incoming) Tokens() int { return in.Len() / bytesPerToken }

// Field returns the value of a field, nil if the request does not have it or if it is null.
func (in *Incoming) Field(name string) json.RawMessage { return in.object.Get(name) }

// Text is the request as it came. It must not be modified.
func (in *Incoming) Text() []byte { return in.object.Text }

// Cut returns the value of a field, and the request without it. Without the field, the value is nil and the request the same.
func (in *Incoming) Cut(name string) (value json.RawMessage, rest *Incoming, err error) {
	if !in.object.Has(name) {
		return nil, in, nil
	}
	o := in.object.Copy()
	o.Remove(name)
	rest, err = in.Format.ReadRequest(o.Bytes())
	return in.object.Get(name), rest, err
}

// Contradicts returns the first field that the caller set to another value than advice does in the caller's protocol, as the names
// that lead to it. Such a request would be answered under another advice than the one that was chosen. nil: there is none.
func (in *Incoming) Contradicts(advice fields.Fields) []string {
	return chatjson.Contradicts(in.object, advice)
}

// Middle returns the request in the middle form. It must not be modified.
func (in *Incoming) Middle() *middle.Request {
	in.once.Do(func() { in.middle = in.Format.Middle(in) })
	return in.middle
}

// Whole returns the request for an answer that is not streamed.
func (in *Incoming) Whole() (*Incoming, error) {
	if !in.Stream {
		return in, nil
	}
	o := in.object.Copy()
	o.Set("stream", []byte("false"))
	if o.Has("stream_options") {
		o.Set("stream_options", []byte("null"))
	}
	return in.Format.ReadRequest(o.Bytes())
}

// ToolsUsed reports whether the request offers tools, also those of a service, or the conversation has calls of them.
func (in *Incoming) ToolsUsed() bool {
	m := in.Middle()
	for _, field := range []string{"tools", "mcp_servers"} {
		if v := in.Field(field); v != nil && compact(v) != "[]" {
			return true
		}
	}
	return len(m.Tools) > 0 || m.Has(middle.Call) || m.Has(middle.Result)
}

// Cites reports whether the request asks for citations, or has some, or parts that only its own protocol has, such as results of a search:
// its answer can have what a stream that is made of it cannot carry.
func (in *Incoming) Cites() bool {
	m := in.Middle()
	return m.Has(middle.Other) || slices.ContainsFunc(m.Foreign, func(e *middle.FieldError) bool { return strings.HasSuffix(e.Param, ".citations") })
}

// ToolLoopOpen reports whether calls of tools wait for the model.
func (in *Incoming) ToolLoopOpen() bool { return in.Middle().ToolLoopOpen() }

// MaxTokens is the limit of the answer's tokens, 0 if the caller names none.
func (in *Incoming) MaxTokens() int64 { return in.Middle().MaxTokens }

// OtherEffort reports whether the caller asks for reasoning by something else than an effort: by another effort, or by a limit of
// tokens alone. "" is no effort.
func (in *Incoming) OtherEffort(than string) bool {
	m := in.Middle()
	return than != "" && m.Effort != than && (m.Effort != "" || m.Thinking > 0)
}

// PreviousResponse is the id of the response that the conversation goes on from, "" without one.
func (in *Incoming) PreviousResponse() string {
	var id string
	_ = json.Unmarshal(jsonedit.OrNull(in.Field("previous_response_id")), &id) // a value that is no text is the service's to refuse
	return id
}
