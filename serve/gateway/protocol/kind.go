package protocol

import (
	"cmp"
	"io"
	"net/http"
	"slices"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Kind is a kind of expert: the protocol of its service, its addresses, and how the key is sent.
type Kind struct {
	Name   string // in the setting kind
	Format Format
	// Path is added to the address of the service for a request in a format; Also are further formats of callers whose requests
	// are passed on without a translation.
	URL  func(base, model string, f Format, stream bool) string
	Also []Caller
	// Check checks the settings base_url and query; nil: they need none.
	Check func(base string, query map[string]string) error
	// Authorize sets the headers that every request has; key is "" without one.
	Authorize func(h http.Header, key string)
	// Sign signs a request with its body, where a service needs that; nil: nothing is signed.
	Sign func(r *http.Request, body []byte, key string) error
	// Frames splits a stream into events, and StreamTypes are the content types of streams. nil: server-sent events.
	Frames      func(in io.Reader, most int) Frames
	StreamTypes []string
}

// Frames are the events of a stream.
type Frames interface {
	// Next returns the next event, as [sse.Reader.Next] does.
	Next() (*sse.Event, error)
}

// Passes reports whether requests of a format are passed on without a translation.
func (k *Kind) Passes(f Format) bool {
	return k.Format.Name() == f.Name() || slices.ContainsFunc(k.Also, func(c Caller) bool { return c.Name() == f.Name() })
}

// Read splits a stream into events.
func (k *Kind) Read(in io.Reader, most int) Frames {
	if k.Frames != nil {
		return k.Frames(in, most)
	}
	return sse.NewReader(in, most)
}

// Translate writes a request of another format for a service. add is a message to insert, nil for none. The error is a
// *middle.FieldError. It names the first field of the caller that cannot be translated.
func (k *Kind) Translate(from *Incoming, add *chatjson.Addition, t Target) (body []byte, changed []string, err error) {
	m := *from.Middle()
	if err := m.Untranslatable(); err != nil {
		return nil, nil, err
	}
	if add != nil && len(m.Messages) > 0 {
		m.Insert(add.At.Index(len(m.Messages), m.LastUser()), middle.Message{Role: add.Role, Parts: []middle.Part{{Kind: middle.Text, Text: add.Text}}})
	}
	body, changed, err = k.Format.Write(&m, t)
	return body, append(changed, m.Left...), err
}

// TranslateAnswer writes a whole answer of a service for a caller.
func (k *Kind) TranslateAnswer(text []byte, to *Incoming) ([]byte, error) {
	a, err := k.Format.Read(text)
	if err != nil {
		return nil, err
	}
	if len(a.Foreign) > 0 {
		return nil, a.Foreign[0]
	}
	a.Model = cmp.Or(a.Model, to.Model) // some services name none
	return to.Format.WriteAnswer(a, to)
}

// Stream translates the events of a stream.
type Stream struct {
	in    middle.Decoder
	out   middle.Encoder
	model string // that the caller asked for
	open  bool   // a part is
	done  bool   // the end was written
}

// TranslateStream translates a stream of a service for a caller.
func (k *Kind) TranslateStream(to *Incoming) *Stream {
	return &Stream{in: k.Format.Decoder(), out: to.Format.Encoder(to), model: to.Model}
}

// Event translates an event. An error means that the caller's protocol has no place for it, or that it is none of the
// service's protocol.
func (s *Stream) Event(e *sse.Event) ([]byte, error) {
	events, err := s.in.Decode(e)
	if err != nil {
		return nil, err
	}
	return s.encode(events)
}

// End translates the end of a stream.
func (s *Stream) End() ([]byte, error) {
	return s.encode(append(s.in.End(), middle.Event{Kind: middle.Done}))
}

func (s *Stream) encode(events []middle.Event) (out []byte, err error) {
	for _, e := range events {
		if err := s.check(&e); err != nil {
			return out, err
		}
		switch e.Kind {
		case middle.Alien:
			return out, middle.FieldErrorf("answer", "has %.80q, which the caller's protocol has no place for", e.Text)
		case middle.Fail:
			return out, &ServiceError{*e.Err}
		case middle.Start:
			e.Model = cmp.Or(e.Model, s.model)
		case middle.Done:
			if s.done {
				continue
			}
			s.done = true
		}
		out = append(out, s.out.Encode(e)...)
	}
	return out, nil
}

// ServiceError is an error that a service sent within a stream.
type ServiceError struct{ middle.Problem }

// Error is the service's message, which may quote the conversation.
func (e *ServiceError) Error() string { return e.Message }

// check refuses events out of order: parts are open one after the other.
func (s *Stream) check(e *middle.Event) error {
	wrong := ""
	switch e.Kind {
	case middle.Open:
		if k := e.Part.Kind; k != middle.Text && k != middle.Call && k != middle.Reasoning && k != middle.Refusal {
			return middle.FieldErrorf("answer", "has %s, which the caller's protocol has no place for", k.Words())
		}
		if s.open {
			wrong = "begins before the one before it has ended"
		}
		s.open = true
	case middle.Delta, middle.Sign:
		if !s.open {
			wrong = "goes on that has not begun"
		}
	case middle.Shut:
		if !s.open {
			wrong = "ends that has not begun"
		}
		s.open = false
	case middle.End:
		if s.open {
			wrong = "has not ended at the end of the answer"
		}
	}
	if wrong != "" {
		return middle.FieldErrorf("answer", "has a part that %s", wrong)
	}
	return nil
}
