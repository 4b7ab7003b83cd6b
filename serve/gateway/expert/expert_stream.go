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

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/sse"
)

// Stream is a streamed answer whose first content has arrived. It is not safe for concurrent use.
type Stream struct {
	call      *call
	in        protocol.Frames
	watch     protocol.Watcher
	translate *protocol.Stream // nil: the caller has the service's protocol
	timer     *time.Timer
	buffered  []byte // events up to the first content, until Next returns them
	end       End
	cutReason string // why a choice ended early, "" if none did
	state     string // "" while the stream may go on; "done" after its last event
	err       error
}

// End is what is known about a stream so far.
type End struct {
	Model    string // that answers, "" if the service did not name it
	Usage    Usage
	Chunks   int  // parts of the answer that were passed on
	Failed   bool // the service sent an error as an event, which was passed on
	Finished bool // a choice had a finish reason, or the last event arrived
}

// readStream reads a stream until its first content. Earlier events are buffered, so that another expert can still answer.
// Every event and comment restarts the timeout.
func (c *call) readStream(response *http.Response, in io.Reader) (*Answer, error) {
	e := c.expert
	if !e.isStream(response.Header) {
		text, _ := io.ReadAll(io.LimitReader(in, maxRefusal))
		f := e.failure("invalid", nil, "the answer is not a stream of events")
		f.Detail = e.detail(text)
		return nil, f
	}
	if in == response.Body && slices.Contains(response.TransferEncoding, "chunked") {
		in = byteReader{in}
	}
	s := &Stream{call: c, in: e.kind.Read(in, e.cfg.MaxAnswer), watch: protocol.Watch(c.writing.format)}
	if c.writing.translate {
		s.translate = e.kind.TranslateStream(c.writing.request)
	}
	s.timer = c.cancelAfter(e.cfg.Timeouts.Whole, errWhole)
	for {
		event, err := s.in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s.ended(response, event.Raw)
		case s.isLast(event, err):
			return s.onlyLast(response, event, err)
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
		c.wait.Alive()
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
	if s.translate != nil && s.state != "done" {
		last = s.translated(s.translate.End())
	}
	if s.err != nil {
		return s.abandon(s.err)
	}
	return &Answer{
		Status: http.StatusOK, Header: s.header(response), Body: e.redact(append(s.buffered, last...)), Model: s.end.Model, Usage: s.end.Usage.For(false),
		OtherMayAnswer: noContent(s.cutReason), Empty: true,
	}, nil
}

// isLast reports whether nothing follows an event. The empty line after it may be missing.
func (s *Stream) isLast(event *sse.Event, err error) bool {
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && event.HasData && s.watch.Last(event)
}

// onlyLast is the result of a stream whose last event came before any content. Some services put the content into it.
func (s *Stream) onlyLast(response *http.Response, event *sse.Event, err error) (*Answer, error) {
	facts := s.readLast(event)
	raw := s.lastBytes(event, err)
	switch {
	case facts.Error != nil:
		f := s.call.expert.failure("error", nil, "an error came instead of an answer")
		f.Detail = s.call.expert.detail(event.Data)
		return s.abandon(f)
	case s.err != nil:
		return s.abandon(s.err)
	case facts.Content && s.call.timer.Stop():
		s.buffered = append(s.buffered, raw...)
		return s.start(response), nil
	}
	return s.ended(response, raw)
}

// readLast records what the last event says.
func (s *Stream) readLast(event *sse.Event) protocol.Facts {
	s.state, s.end.Finished = "done", true
	facts, err := s.watch.Read(event)
	if err == nil { // [DONE] says nothing
		s.record(facts)
	}
	return facts
}

// lastBytes returns the last event for the caller.
func (s *Stream) lastBytes(event *sse.Event, err error) []byte {
	if s.translate == nil {
		return endOf(event, err)
	}
	out := s.translated(s.translate.Event(event))
	if s.err != nil {
		return nil
	}
	return append(out, s.translated(s.translate.End())...)
}

// translated returns the bytes of a translated event. An event that cannot be translated ends the stream.
func (s *Stream) translated(out []byte, err error) []byte {
	e := s.call.expert
	var said *protocol.ServiceError
	switch {
	case err == nil:
		return out
	case errors.As(err, &said):
		f := e.failure("error", nil, "the service sent an error within its stream")
		f.Detail = e.detail([]byte(said.Message))
		s.err = f
	default:
		s.err = e.failure("invalid", nil, "the answer cannot be passed on: %s", err.Error())
	}
	return nil
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
	if fault, ok := errors.AsType[*Failure](err); ok {
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
	if !event.HasData || s.watch.Alive(event) {
		s.buffered = append(s.buffered, s.alive(event)...)
		return false, nil
	}
	chunk, err := s.watch.Read(event)
	if err == nil && (chunk.Error != nil || event.Name == "error") {
		s.record(chunk) // it may report a usage
	}
	if err != nil || chunk.Error != nil || event.Name == "error" {
		f := e.failure("invalid", nil, "%s", s.call.writing.notAnswer("an event before the first content", err))
		if err == nil || event.Name == "error" {
			f = e.failure("error", nil, "an error came instead of an answer")
		}
		f.Detail = e.detail(event.Data)
		return false, f
	}
	s.buffered = append(s.buffered, s.pass(event, chunk, nil)...)
	return chunk.Content, s.err
}

// alive returns a sign of life for the caller.
func (s *Stream) alive(event *sse.Event) []byte {
	if s.translate != nil {
		return []byte(": life\n\n")
	}
	return event.Raw
}

// start is the answer of a stream whose first content has arrived.
func (s *Stream) start(response *http.Response) *Answer {
	return &Answer{Status: http.StatusOK, Header: s.header(response), Stream: s, Model: s.end.Model}
}

// header returns the headers of a stream for the caller.
func (s *Stream) header(response *http.Response) http.Header {
	e := s.call.expert
	header := e.passed(response.Header)
	s.call.writing.setHeader(header)
	header.Set("Content-Type", "text/event-stream")
	if s.translate != nil {
		return header
	}
	if kind := response.Header.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", e.header(kind))
	}
	return header
}

// record updates what is known about the stream from a chunk.
func (s *Stream) record(a protocol.Facts) {
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
	case s.isLast(event, err):
		s.readLast(event)
		return s.lastBytes(event, err)
	case errors.Is(err, io.EOF) && s.translate != nil && s.end.Finished:
		s.state = "done"
		return s.translated(s.translate.End())
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

// filter returns the bytes of an event to pass on, and records what its chunk says. Events that are no chunks are passed on.
// A chunk with a repeated key ends the stream.
func (s *Stream) filter(event *sse.Event) []byte {
	if !event.HasData {
		return s.alive(event)
	}
	chunk, err := s.watch.Read(event)
	return s.pass(event, chunk, err)
}

// pass returns the bytes of an event whose facts were read. It drops a chunk that has only the usage if the caller did not
// ask for that.
func (s *Stream) pass(event *sse.Event, chunk protocol.Facts, err error) []byte {
	switch {
	case errors.Is(err, jsonedit.ErrRepeated) && (event.Name == "" || event.Name == "message" || s.call.writing.format != protocol.Chat):
		s.err = s.call.expert.failure("invalid", nil, "%s", s.call.writing.notAnswer("an event", err))
		return nil
	case err != nil && s.translate == nil:
		return event.Raw
	}
	if err == nil {
		s.record(chunk)
	}
	if s.translate != nil {
		return s.translated(s.translate.Event(event))
	}
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
