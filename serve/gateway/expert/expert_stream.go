package expert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/sse"
)

// Stream is a streamed answer whose first content has come. It is not safe for concurrent use.
type Stream struct {
	call  *call
	in    *sse.Reader
	whole *time.Timer
	held  []byte // what came before the first content, and that
	end   End
	cut   string // why a choice was cut, "" if none was
	state string // "": more may come; done: the end has come; else broken
	err   error
}

// End is what a stream showed of itself until now.
type End struct {
	Model    string // that answers, "" if the service does not say
	Usage    Usage
	Chunks   int  // parts of the answer that were passed on
	Failed   bool // the service sent an error as an event, which was passed on
	Finished bool // a choice stated why it ended, or [DONE] came
}

var doneData = []byte("[DONE]")

// begin reads a stream until its first content. What comes before it is held back, so that another expert can still
// answer; each event and comment is a sign of life.
func (c *call) begin(response *http.Response, in io.Reader) (*Answer, error) {
	e := c.expert
	if !isStream(response.Header) {
		text, _ := io.ReadAll(io.LimitReader(in, maxRefusal))
		f := e.fault("invalid", nil, "the answer is not a stream of events")
		f.Detail = e.detail(text)
		return nil, f
	}
	if in == response.Body && slices.Contains(response.TransferEncoding, "chunked") {
		in = byteReader{in}
	}
	s := &Stream{call: c, in: sse.NewReader(in, e.cfg.MaxAnswer)}
	s.whole = c.after(e.cfg.Timeouts.Whole, errWhole)
	for {
		event, err := s.in.Next()
		switch {
		case errors.Is(err, io.EOF), isDone(event, err):
			return s.ended(response, endOf(event, err))
		case errors.Is(err, sse.ErrTooLong) || len(s.held)+len(event.Raw) > e.cfg.MaxAnswer:
			return s.give(e.fault("too_large", nil, "the stream is longer than %d bytes before its first content", e.cfg.MaxAnswer))
		case err != nil:
			return s.give(c.broken(err))
		}
		content, err := s.early(event)
		if err != nil {
			return s.give(err)
		}
		if !c.timer.Stop() { // the call is cancelled, so the rest would not come
			return s.give(c.broken(context.Cause(c.ctx)))
		}
		if content {
			return s.start(response), nil
		}
		c.timer.Reset(c.first)
	}
}

// ended is what a stream gives that ended before its first content. last are its last bytes.
func (s *Stream) ended(response *http.Response, last []byte) (*Answer, error) {
	e := s.call.expert
	if s.cut == "" {
		return s.give(e.fault("empty", nil, "the stream ended before its first content"))
	}
	s.whole.Stop()
	return &Answer{
		Status: http.StatusOK, Header: s.header(response), Body: e.clean(append(s.held, last...)), Model: s.end.Model, Usage: s.end.Usage.For(false),
		Own: noContent(s.cut), Empty: true,
	}, nil
}

// isDone reports whether an event says that the stream has ended. The empty line after it may be missing.
func isDone(event *sse.Event, err error) bool {
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && event.HasData && bytes.Equal(event.Data, doneData)
}

// endOf returns the bytes of a last event, with the empty line after it.
func endOf(event *sse.Event, err error) []byte {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return append(bytes.TrimRight(event.Raw, "\r\n"), "\n\n"...)
	}
	return event.Raw
}

// give gives a stream up. What it stated of its usage is kept.
func (s *Stream) give(err error) (*Answer, error) {
	s.whole.Stop()
	var fault *Failure
	if errors.As(err, &fault) {
		fault.used(s.end.Model, s.end.Usage)
	}
	return nil, err
}

// byteReader reads a byte at a time. A body in chunks holds bytes back that have come: a read that gets the end of one
// chunk and a part of the next waits for the rest of that one, so an event could be late, or lost when the time is over.
type byteReader struct{ in io.Reader }

func (r byteReader) Read(p []byte) (int, error) { return r.in.Read(p[:min(len(p), 1)]) }

// early looks at an event until the first content, which it reports.
func (s *Stream) early(event *sse.Event) (content bool, err error) {
	e := s.call.expert
	if !event.HasData || isSign(event) {
		s.held = append(s.held, event.Raw...)
		return false, nil
	}
	chunk, err := chatjson.ReadAnswer(event.Data)
	if err == nil && (chunk.Error != nil || event.Name == "error") {
		s.note(chunk) // it may state a usage
	}
	if err != nil || chunk.Error != nil || event.Name == "error" {
		f := e.fault("invalid", nil, "%s", notChat("an event before the first content", err))
		if err == nil || event.Name == "error" {
			f = e.fault("error", nil, "an error came instead of an answer")
		}
		f.Detail = e.detail(event.Data)
		return false, f
	}
	s.held = append(s.held, s.look(event)...)
	return chunk.Content, nil
}

// isSign reports whether an event is a sign of life: a ping, or one of another name than those of answers and errors.
func isSign(event *sse.Event) bool {
	switch event.Name {
	case "", "message":
		return chatjson.IsPing(event.Data)
	case "error":
		return false
	}
	_, err := chatjson.ReadAnswer(event.Data)
	return err != nil
}

// start is the answer of a stream whose first content has come.
func (s *Stream) start(response *http.Response) *Answer {
	return &Answer{Status: http.StatusOK, Header: s.header(response), Stream: s, Model: s.end.Model}
}

// header is what is passed on of the headers of a stream.
func (s *Stream) header(response *http.Response) http.Header {
	e := s.call.expert
	header := e.passed(response.Header)
	header.Set("Content-Type", "text/event-stream")
	if kind := response.Header.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", e.header(kind))
	}
	return header
}

// note keeps what a chunk says about the whole answer.
func (s *Stream) note(a chatjson.Answer) {
	if s.end.Model == "" {
		s.end.Model = string(s.call.expert.clean([]byte(a.Model)))
	}
	if a.Usage != (Usage{}) {
		s.end.Usage = a.Usage // services that send it with every chunk count on
	}
	s.end.Chunks += min(a.Choices, 1)
	s.end.Finished = s.end.Finished || a.Finished
	s.end.Failed = s.end.Failed || a.Error != nil
	s.cut = cmp.Or(a.Cut, s.cut)
}

// End is what the stream showed of itself until now.
func (s *Stream) End() End {
	end := s.end
	end.Usage = end.Usage.For(true)
	return end
}

// Next returns the bytes to pass on next, which are valid until the next call: whole events as the service sent them.
// The chunk with the usage is left out if the caller did not ask for it. At the end of the stream the error is io.EOF. A
// stream that ends early gives a *Failure; the bytes of an event that did not come whole are not returned. Other errors
// are those of the context.
func (s *Stream) Next() ([]byte, error) {
	if s.held != nil {
		raw := s.held
		s.held = nil
		return s.call.expert.clean(raw), nil
	}
	for s.err == nil {
		raw := s.next()
		if raw != nil {
			return s.call.expert.clean(raw), nil
		}
	}
	return nil, s.err
}

// next reads an event. It returns nil if there is nothing to pass on, and sets err at the end.
func (s *Stream) next() []byte {
	c, e := s.call, s.call.expert
	if s.state == "done" {
		s.err = io.EOF
		return nil
	}
	idle := c.after(e.cfg.Timeouts.Idle, errIdle)
	event, err := s.in.Next()
	idle.Stop()
	switch {
	case isDone(event, err):
		s.state, s.end.Finished = "done", true
		return endOf(event, err)
	case errors.Is(err, io.EOF) && (s.end.Finished || s.end.Failed):
		s.err = io.EOF
		return event.Raw[:len(event.Raw):len(event.Raw)]
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && context.Cause(c.ctx) == nil:
		s.err = e.fault("cut", nil, "the stream ended early")
		return nil
	case errors.Is(err, sse.ErrTooLong):
		s.err = e.fault("too_large", nil, "an event is longer than %d bytes", e.cfg.MaxAnswer)
		return nil
	case err != nil:
		s.err = c.broken(err)
		return nil
	}
	return s.look(event)
}

// look notes what a chunk says, and leaves out the one with the usage that the caller did not ask for. Events that are
// no chunks are passed on, and a chunk with a repeated key ends the stream.
func (s *Stream) look(event *sse.Event) []byte {
	if !event.HasData {
		return event.Raw
	}
	chunk, err := chatjson.ReadAnswer(event.Data)
	switch {
	case errors.Is(err, chatjson.ErrRepeated) && (event.Name == "" || event.Name == "message"):
		s.err = s.call.expert.fault("invalid", nil, "%s", notChat("an event", err))
		return nil
	case err != nil:
		return event.Raw
	}
	s.note(chunk)
	if s.call.stripUsage && chunk.Choices == 0 && chunk.Usage != (Usage{}) && chunk.Error == nil {
		return nil
	}
	return event.Raw
}

// drain is how long the end of a response is waited for after [DONE], so that the connection can be used again.
const drain = 50 * time.Millisecond

// Close ends the stream, and the call if it still runs. It must be called once.
func (s *Stream) Close() {
	if s.state == "done" {
		timer := s.call.after(drain, io.EOF)
		_, _ = io.CopyN(io.Discard, s.call.body, 4096) // only to reach the end
		timer.Stop()
	}
	s.whole.Stop()
	var fault *Failure
	if errors.As(s.err, &fault) || s.end.Failed {
		s.call.close(cmpError(s.err, errors.New("an error within the stream")))
		return
	}
	s.call.close(nil)
}

// cmpError returns the first error that is one.
func cmpError(errs ...error) error {
	for _, err := range errs {
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}
