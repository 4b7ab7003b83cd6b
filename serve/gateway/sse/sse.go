// Package sse splits a stream of server-sent events into events and keeps their bytes, so that a proxy can read the events
// and still pass the stream on unchanged.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is the error for an event that is longer than the reader's limit.
var ErrTooLong = errors.New("an event is longer than the limit")

// Event is one event, or a block of comments between two events.
type Event struct {
	// Raw are the bytes of the event with the empty line at its end. The concatenation of all Raw is the stream.
	Raw []byte
	// Data are the values of the data fields, joined by line feeds, as the HTML standard says.
	Data []byte
	// Name is the value of the field event, "" if there is none.
	Name string
	// HasData distinguishes an event with an empty data field from one without a data field, such as a comment.
	HasData bool
}

// Reader splits a stream into events. Lines may end in LF, CR LF or CR. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	most    int
	event   Event
	began   bool // a line was read
	afterCR bool // the last byte was a CR, and an LF may still follow
	pairs   bool // the last complete line end was CR LF
}

// NewReader returns a reader of events of at most the given number of bytes.
func NewReader(in io.Reader, most int) *Reader { return &Reader{in: bufio.NewReader(in), most: most} }

// Next returns the next event, whose bytes are valid until the next call. At the end of the stream the error is io.EOF;
// the event then has no data, and Raw is empty or the rest of a line end. If the stream ends within an event, the error is
// io.ErrUnexpectedEOF, and the event has the part that arrived. Other errors are ErrTooLong and those of the stream.
func (r *Reader) Next() (*Event, error) {
	e := &r.event
	e.Raw, e.Data, e.Name, e.HasData = e.Raw[:0], e.Data[:0], "", false
	for {
		from := len(e.Raw)
		err := r.line()
		line := bytes.Trim(e.Raw[from:], "\r\n")
		if !r.began && len(line) > 0 {
			line, r.began = bytes.TrimPrefix(line, []byte("\ufeff")), true
		}
		switch {
		case err == nil && len(line) == 0:
			return e, nil
		case err == nil:
			e.add(line)
		case errors.Is(err, io.EOF) && len(bytes.Trim(e.Raw, "\r\n")) == 0:
			return e, io.EOF
		case errors.Is(err, io.EOF):
			e.add(line)
			return e, io.ErrUnexpectedEOF
		default:
			return e, err
		}
	}
}

// line appends the next line with its end to the raw bytes.
func (r *Reader) line() error {
	e := &r.event
	for {
		if len(e.Raw) >= r.most {
			return ErrTooLong
		}
		b, err := r.in.ReadByte()
		if err != nil {
			return err
		}
		e.Raw = append(e.Raw, b)
		rest := r.afterCR && b == '\n' // the end of the previous line
		r.afterCR = b == '\r'
		switch {
		case rest:
			r.pairs = true
		case b == '\n':
			r.pairs = false
			return nil
		case b == '\r':
			r.lineFeed()
			return nil
		}
	}
}

// lineFeed reads the LF after a CR. It waits for one only if the previous line ended in CR LF: otherwise the event would be
// delayed until the next one arrives.
func (r *Reader) lineFeed() {
	if r.in.Buffered() == 0 && !r.pairs {
		return
	}
	next, err := r.in.Peek(1)
	if r.pairs = err == nil && next[0] == '\n'; r.pairs {
		_, _ = r.in.Discard(1) // it is in the buffer
		r.event.Raw, r.afterCR = append(r.event.Raw, '\n'), false
	}
}

// add interprets a line that is not empty. Comments and other fields than data and event are only in Raw.
func (e *Event) add(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
	case "event":
		e.Name = string(value)
		return
	default:
		return
	}
	if e.HasData {
		e.Data = append(e.Data, '\n')
	}
	e.Data, e.HasData = append(e.Data, value...), true
}
