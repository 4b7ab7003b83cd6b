package protocol

import (
	"encoding/json"
	"errors"

	"pipe/costs/prices"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Protocols that are only passed on, to an expert that the caller names: embeddings and the older completions of OpenAI, and
// Anthropic's counting of tokens.
var (
	Embeddings  Caller = &passthrough{name: "embeddings", body: openAIError}
	Completions Caller = &passthrough{name: "completions", body: openAIError}
	CountTokens Caller = &passthrough{name: "count_tokens", body: anthropicError}
)

// passthrough is a protocol without a translation.
type passthrough struct {
	name string
	body func(middle.Problem) []byte // of an error
}

// Name is the name of the protocol.
func (f *passthrough) Name() string { return f.name }

// ReadRequest reads a request as it came.
func (f *passthrough) ReadRequest(text []byte) (*Incoming, error) {
	r, err := readIncoming(f, text, f.name, "")
	if err != nil {
		return nil, err
	}
	r.body, r.Usage = onlyModel{r.object}, true
	_ = json.Unmarshal(jsonedit.OrNull(r.Field("user")), &r.User) // another form is the service's to refuse
	return r, nil
}

// onlyModel is a request in which nothing changes but the model.
type onlyModel struct{ object *jsonedit.Object }

// With returns the bytes of the request with another model.
func (r onlyModel) With(c chatjson.Change) []byte {
	o := r.object.Copy()
	o.Set("model", jsonedit.Quote(c.Model))
	return o.Bytes()
}

// Middle has nothing but the reason why such a request is not translated.
func (f *passthrough) Middle(in *Incoming) *middle.Request {
	return &middle.Request{From: f.name, Model: in.Model, User: in.User, Foreign: []*middle.FieldError{{Param: "model", Msg: "names an expert that has no " + f.name}}}
}

// Routable reports whether a request is routed by a policy, and not only passed on.
func (in *Incoming) Routable() bool {
	_, only := in.Format.(*passthrough)
	return !only
}

var errNotTranslated = errors.New("is not translated")

// Write refuses.
func (*passthrough) Write(*middle.Request, Target) ([]byte, []string, error) {
	return nil, nil, errNotTranslated
}

// Read refuses.
func (*passthrough) Read([]byte) (*middle.Answer, error) { return nil, errNotTranslated }

// WriteAnswer refuses.
func (*passthrough) WriteAnswer(*middle.Answer, *Incoming) ([]byte, error) {
	return nil, errNotTranslated
}

// Decoder is nil: no stream is translated.
func (*passthrough) Decoder() middle.Decoder { return nil }

// Encoder is nil: no stream is translated.
func (*passthrough) Encoder(*Incoming) middle.Encoder { return nil }

// Error is the body of a response with an error.
func (f *passthrough) Error(p middle.Problem) []byte { return f.body(p) }

// ErrorEvent is the last event of a stream that failed.
func (f *passthrough) ErrorEvent(p middle.Problem) []byte {
	return []byte("data: " + string(f.body(p)) + "\n\n")
}

// facts reads the facts of a whole answer. Any object is content.
func (f *passthrough) facts(text []byte) (Facts, error) {
	o, err := jsonedit.ParseLenient(text)
	if err != nil {
		return Facts{}, err
	}
	a := Facts{Choices: 1, Content: true, Finished: true, Error: o.Get("error"), Usage: f.usage(o.Get("usage"))}
	_ = json.Unmarshal(jsonedit.OrNull(o.Get("model")), &a.Model) // a value that is no text is ignored
	return a, nil
}

// usage reads a usage. Embeddings have no tokens of an answer.
func (f *passthrough) usage(v json.RawMessage) prices.Stated {
	if o, err := jsonedit.ParseValid(jsonedit.OrNull(v)); err == nil && f.name == "embeddings" && !o.Has("completion_tokens") {
		o.Set("completion_tokens", []byte("0"))
		v = o.Bytes()
	}
	return prices.ReadStated(v, middle.MaxTokens)
}

func (f *passthrough) watch() Watcher { return passWatcher{f: f} }

// passWatcher reads facts from the chunks of a completion.
type passWatcher struct {
	chatWatcher
	f *passthrough
}

// Read returns the facts of a chunk.
func (w passWatcher) Read(e *sse.Event) (Facts, error) {
	a, err := w.f.facts(e.Data)
	if err != nil {
		return a, err
	}
	var c struct {
		Choices []struct {
			Text   string
			Reason string `json:"finish_reason"`
		}
	}
	_ = json.Unmarshal(e.Data, &c) // a chunk of another form has no content
	a.Choices, a.Content, a.Finished = len(c.Choices), false, false
	for _, one := range c.Choices {
		a.Content = a.Content || middle.HasContent([]middle.Part{{Kind: middle.Text, Text: one.Text}})
		a.Finished = a.Finished || one.Reason != ""
		if one.Reason == "length" || one.Reason == "content_filter" {
			a.Cut = one.Reason
		}
	}
	return a, nil
}

// Alive reports whether an event is a ping.
func (w passWatcher) Alive(e *sse.Event) bool { return chatjson.IsPing(e.Data) }
