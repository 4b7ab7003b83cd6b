// Package protocol has the protocols in which callers and experts of the gateway speak: one file for each, and a list. A
// request and an answer pass unchanged between a caller and an expert of the same protocol, but for what the gateway edits.
// Between two protocols they go through the middle form of package middle.
package protocol

import (
	"encoding/json"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Format is a protocol in which services answer: how requests are written, and answers are read.
type Format interface {
	// Name is one word, such as chat.
	Name() string
	// Write writes a request that can be translated. It returns what it changed, in words for the caller. The error is a *middle.FieldError that names
	// a field of the caller which the protocol has no place for.
	Write(r *middle.Request, t Target) (body []byte, changed []string, err error)
	// Read reads a whole answer. An error means that it is none of this protocol.
	Read(text []byte) (*middle.Answer, error)
	// Decoder reads a stream.
	Decoder() middle.Decoder
}

// Caller is a protocol in which callers speak, too.
type Caller interface {
	Format
	// ReadRequest reads a request as it came. The error is a *middle.FieldError.
	ReadRequest(text []byte) (*Incoming, error)
	// Middle translates a request. What it cannot read is listed in the result.
	Middle(in *Incoming) *middle.Request
	// WriteAnswer writes a whole answer to a request.
	WriteAnswer(a *middle.Answer, to *Incoming) ([]byte, error)
	// Encoder writes a streamed answer to a request.
	Encoder(to *Incoming) middle.Encoder
	// Error is the body of a response with an error status, and ErrorEvent the last event of a stream that failed.
	Error(p middle.Problem) []byte
	ErrorEvent(p middle.Problem) []byte
}

// Target says for which service a request is written.
type Target = middle.Target

// Facts are what the gateway needs to know of an answer, or of an event of a streamed one.
type Facts = chatjson.Answer

// factReader is a format that reads facts in its own way, and not through the middle form.
type factReader interface {
	facts(text []byte) (Facts, error)
	watch() Watcher
}

// Watcher reads the facts of the events of one stream.
type Watcher interface {
	// Read returns the facts of an event. An error means that it is none of the protocol.
	Read(e *sse.Event) (Facts, error)
	// Alive reports whether an event is only a sign of life, whatever its data are.
	Alive(e *sse.Event) bool
	// Last reports whether nothing follows an event.
	Last(e *sse.Event) bool
}

// ReadFacts reads the facts of a whole answer. An error means that it is none of the format.
func ReadFacts(f Format, text []byte) (Facts, error) {
	if own, ok := f.(factReader); ok {
		return own.facts(text)
	}
	if p := problemIn(text); p != nil {
		return Facts{Error: text}, nil
	}
	a, err := f.Read(text)
	if err != nil {
		return Facts{}, err
	}
	return Facts{Model: a.Model, Usage: a.Usage.Stated, Choices: 1, Content: middle.HasContent(a.Parts), Finished: a.Finish != "", Cut: a.Finish.Cut()}, nil
}

// Watch reads the facts of a stream.
func Watch(f Format) Watcher {
	if own, ok := f.(factReader); ok {
		return own.watch()
	}
	return &watcher{f.Decoder()}
}

// watcher reads facts through the middle form.
type watcher struct{ middle.Decoder }

// Read returns the facts of an event.
func (w *watcher) Read(e *sse.Event) (f Facts, err error) {
	events, err := w.Decode(e)
	if err != nil {
		return f, err
	}
	for _, m := range events {
		switch m.Kind {
		case middle.Start:
			f.Model, f.Usage = m.Model, m.Usage.Stated
		case middle.Open:
			f.Content = f.Content || middle.HasContent([]middle.Part{m.Part})
		case middle.Delta:
			f.Content = f.Content || middle.HasContent([]middle.Part{{Kind: middle.Text, Text: m.Text}})
			f.Choices = 1
		case middle.End:
			f.Finished, f.Cut = true, m.Finish.Cut()
		case middle.Count:
			f.Usage = m.Usage.Stated
		case middle.Alien:
			f.Content = f.Content || m.Part.Kind == middle.Other
		case middle.Fail:
			f.Error = json.RawMessage(e.Data)
		}
	}
	return f, nil
}

// Alive reports whether an event is a ping.
func (w *watcher) Alive(e *sse.Event) bool { return e.Name == "ping" }
