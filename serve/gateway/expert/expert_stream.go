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
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/sse"
)

// Stream is a streamed answer whose first content has arrived. It is not safe for concurrent use.
type Stream struct {
	call      *call
	in        *sse.Reader
	timer     *time.Timer
	buffered  []byte // events up to the first content, until Next returns them
	end       End
	cutReason string // why a choice ended early, "" if none did
	state     string // "" while the stream may go on; "done" after [DONE]
	err       error
}

// End is what is known about a stream so far.
type End struct {
	Model    string // that answers, "" if the service did not name it
	Usage    Usage
	Chunks   int  // parts of the answer that were passed on
	Failed   bool // the service sent an error as an event, which was passed on
	Finished bool // a choice had a finish reason, or [DONE] arrived
}

var doneData = []byte("[DONE]")

// readStream reads a stream until its first content. Earlier events are buffered, so that another expert can still answer.
// Every event and comment restarts the timeout.
func (c *call) readStream(response *http.Response, in io.Reader) (*Answer, error) {
	e := c.expert
	if !isStream(response.Header) {
		text, _ := io.ReadAll(io.LimitReader(in, maxRefusal))
		f := e.failure("invalid", nil, "the answer is not a stream of events")
		f.Detail = e.detail(text)
		return nil, f
	}
	if in == response.Body && slices.Contains(response.TransferEncoding, "chunked") {
		in = byteReader{in}
	}
	s := &Stream{call: c, in: sse.NewReader(in, e.cfg.MaxAnswer)}
	s.timer = c.cancelAfter(e.cfg.Timeouts.Whole, errWhole)
	for {
		event, err := s.in.Next()
		switch {
		case errors.Is(err, io.EOF), isDone(event, err):
			return s.ended(response, endOf(event, err))
		case errors.Is(err, sse.ErrTooLong) || len(s.buffered)+len(event.Raw) > e.cfg.MaxAnswer:
			return s.abandon(e.failure("too_large", nil, "the stream is longer than %d bytes before its first content", e.cfg.MaxAnswer))
		case err != nil:
			return s.abandon(c.transportError(err))
		}
		content, err := s.readBeforeContent(event)
		if err != nil {
			return s.abandon(err)
		}
		if !c.timer.Stop() { // the call was cancelled, so nothing more will arrive
			return s.abandon(c.transportError(context.Cause(c.ctx)))
		}
		if content {
			return s.start(response), nil
		}
		c.timer.Reset(c.timeout)
	}
}

// ended is the result of a stream that ended before its first content. last are its last bytes.
func (s *Stream) ended(response *http.Response, last []byte) (*Answer, error) {
	e := s.call.expert
	if s.cutReason == "" {
		return s.abandon(e.failure("empty", nil, "the stream ended before its first content"))
	}
	s.timer.Stop()
	return &Answer{
		Status: http.StatusOK, Header: s.header(response), Body: e.redact(append(s.buffered, last...)), Model: s.end.Model, Usage: s.end.Usage.For(false),
		OtherMayAnswer: noContent(s.cutReason), Empty: true,
	}, nil
}

// isDone reports whether an event is the end of the stream, [DONE]. The empty line after it may be missing.
func isDone(event *sse.Event, err error) bool {
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && event.HasData && bytes.Equal(event.Data, doneData)
}

// endOf returns the bytes of the last event, and adds the empty line after it if it is missing.
func endOf(event *sse.Event, err error) []byte {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return append(bytes.TrimRight(event.Raw, "\r\n"), "\n\n"...)
	}
	return event.Raw
}

// abandon gives up a stream that failed, and adds the usage that it reported to the failure.
func (s *Stream) abandon(err error) (*Answer, error) {
	s.timer.Stop()
	var fault *Failure
	if errors.As(err, &fault) {
		fault.withUsage(s.end.Model, s.end.Usage)
	}
	return nil, err
}

// byteReader reads one byte at a time. A larger read of a chunked body may end in the middle of a chunk and then wait for
// the rest of it, although a complete event has arrived. The event would be late, or lost at a timeout.
type byteReader struct{ in io.Reader }

func (r byteReader) Read(p []byte) (int, error) { return r.in.Read(p[:min(len(p), 1)]) }

// readBeforeContent buffers an event and reports whether it is the first one with content.
func (s *Stream) readBeforeContent(event *sse.Event) (content bool, err error) {
	e := s.call.expert
	if !event.HasData || isKeepAlive(event) {
		s.buffered = append(s.buffered, event.Raw...)
		return false, nil
	}
	chunk, err := chatjson.ReadAnswer(event.Data)
	if err == nil && (chunk.Error != nil || event.Name == "error") {
		s.record(chunk) // it may report a usage
	}
	if err != nil || chunk.Error != nil || event.Name == "error" {
		f := e.failure("invalid", nil, "%s", notChat("an event before the first content", err))
		if err == nil || event.Name == "error" {
			f = e.failure("error", nil, "an error came instead of an answer")
		}
		f.Detail = e.detail(event.Data)
		return false, f
	}
	s.buffered = append(s.buffered, s.filter(event)...)
	return chunk.Content, nil
}

// isKeepAlive reports whether an event is only a sign of life: a ping, or an event of an unknown name that is no answer.
func isKeepAlive(event *sse.Event) bool {
	switch event.Name {
	case "", "message":
		return chatjson.IsPing(event.Data)
	case "error":
		return false
	}
	_, err := chatjson.ReadAnswer(event.Data)
	return err != nil
}

// start is the answer of a stream whose first content has arrived.
func (s *Stream) start(response *http.Response) *Answer {
	return &Answer{Status: http.StatusOK, Header: s.header(response), Stream: s, Model: s.end.Model}
}

// header returns the headers of a stream for the caller.
func (s *Stream) header(response *http.Response) http.Header {
	e := s.call.expert
	header := e.passed(response.Header)
	header.Set("Content-Type", "text/event-stream")
	if kind := response.Header.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", e.header(kind))
	}
	return header
}

// record updates what is known about the stream from a chunk.
func (s *Stream) record(a chatjson.Answer) {
	if s.end.Model == "" {
		s.end.Model = string(s.call.expert.redact([]byte(a.Model)))
	}
	if a.Usage != (Usage{}) {
		s.end.Usage = a.Usage // in services that send it with every chunk, it is a running total
	}
	s.end.Chunks += min(a.Choices, 1)
	s.end.Finished = s.end.Finished || a.Finished
	s.end.Failed = s.end.Failed || a.Error != nil
	s.cutReason = cmp.Or(a.Cut, s.cutReason)
}

// End returns what is known about the stream so far.
func (s *Stream) End() End {
	end := s.end
	end.Usage = end.Usage.For(true)
	return end
}

// Next returns the next complete events as the service sent them. The bytes are valid until the next call. The chunk with
// the usage is left out if the caller did not ask for it. At the end of the stream the error is io.EOF. A stream that ends
// early returns a *Failure; an incomplete event is dropped. Other errors are those of the context.
func (s *Stream) Next() ([]byte, error) {
	if s.buffered != nil {
		raw := s.buffered
		s.buffered = nil
		return s.call.expert.redact(raw), nil
	}
	for s.err == nil {
		raw := s.next()
		if raw != nil {
			return s.call.expert.redact(raw), nil
		}
	}
	return nil, s.err
}

// next reads an event. It returns nil if the event is not passed on, and sets err at the end.
func (s *Stream) next() []byte {
	c, e := s.call, s.call.expert
	if s.state == "done" {
		s.err = io.EOF
		return nil
	}
	idle := c.cancelAfter(e.cfg.Timeouts.Idle, errIdle)
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
		s.err = e.failure("cut", nil, "the stream ended early")
		return nil
	case errors.Is(err, sse.ErrTooLong):
		s.err = e.failure("too_large", nil, "an event is longer than %d bytes", e.cfg.MaxAnswer)
		return nil
	case err != nil:
		s.err = c.transportError(err)
		return nil
	}
	return s.filter(event)
}

// filter returns the bytes of an event to pass on, and records what its chunk says. It drops a chunk that has only the usage
// if the caller did not ask for that. Events that are no chunks are passed on. A chunk with a repeated key ends the stream.
func (s *Stream) filter(event *sse.Event) []byte {
	if !event.HasData {
		return event.Raw
	}
	chunk, err := chatjson.ReadAnswer(event.Data)
	switch {
	case errors.Is(err, jsonedit.ErrRepeated) && (event.Name == "" || event.Name == "message"):
		s.err = s.call.expert.failure("invalid", nil, "%s", notChat("an event", err))
		return nil
	case err != nil:
		return event.Raw
	}
	s.record(chunk)
	if s.call.stripUsage && chunk.Choices == 0 && chunk.Usage != (Usage{}) && chunk.Error == nil {
		return nil
	}
	return event.Raw
}

// drainTime is the longest wait for the end of a response after [DONE], so that the connection can be reused.
const drainTime = 50 * time.Millisecond

// Close ends the stream, and cancels the call if it still runs. It must be called once.
func (s *Stream) Close() {
	if s.state == "done" {
		timer := s.call.cancelAfter(drainTime, io.EOF)
		_, _ = io.CopyN(io.Discard, s.call.body, 4096) // only to reach the end
		timer.Stop()
	}
	s.timer.Stop()
	var fault *Failure
	if errors.As(s.err, &fault) || s.end.Failed {
		s.call.close(firstError(s.err, errors.New("an error within the stream")))
		return
	}
	s.call.close(nil)
}

// firstError returns the first error that is neither nil nor io.EOF.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}
