package expert

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pipe/experts/service"
	"pipe/serve/gateway/chatjson"
)

// Usage is what a call used.
type Usage = chatjson.Usage

// Causes of cancelled calls.
var (
	errFirstByte = errors.New("no first content in time")
	errAnswer    = errors.New("no answer in time")
	errIdle      = errors.New("no further event in time")
	errWhole     = errors.New("the answer did not end in time")
)

// Answer is what an expert answered: a whole answer, a stream, an answer without content, or a refusal of the caller's request.
type Answer struct {
	Status int         // 200, or a status from 400 to 499 of the caller's making
	Header http.Header // those that are passed on
	Body   []byte      // all of it; nil for a stream whose first content has come
	Stream *Stream     // nil: not a stream. The caller closes it
	Model  string      // that answered, "" if the service does not say; of a stream see Stream.End
	Usage  Usage       // of a whole answer
	Own    string      // why another expert may do better; "" if it is an answer, or if the request is wrong
	Empty  bool        // an answer without content, cut by a limit or a filter: it may be the caller's doing, and is no failure
}

// Call sends a request and returns when there is something to pass on: the whole answer, or the first content of a stream.
// headers are sent with it. A *Failure means that another expert can be asked. Any other error is that of ctx.
func (e *Expert) Call(ctx context.Context, r *chatjson.Request, add *chatjson.Addition, headers http.Header) (*Answer, error) {
	t := e.cfg.Timeouts
	if r.Stream {
		return e.call(ctx, r, add, headers, patience{t.FirstByte, errFirstByte})
	}
	return e.call(ctx, r, add, headers, patience{t.Answer, errAnswer})
}

// CallLast is Call where no other expert can answer: a slow one is not cut before Timeouts.Whole.
func (e *Expert) CallLast(ctx context.Context, r *chatjson.Request, add *chatjson.Addition, headers http.Header) (*Answer, error) {
	return e.call(ctx, r, add, headers, patience{e.cfg.Timeouts.Whole, errWhole})
}

// patience is how long the first content of a stream, or a whole answer, is waited for, and the cause of what ends then.
type patience struct {
	time  time.Duration
	cause error
}

func (e *Expert) call(ctx context.Context, r *chatjson.Request, add *chatjson.Addition, headers http.Header, p patience) (*Answer, error) {
	end, err := e.begin()
	if err != nil {
		return nil, err
	}
	change := chatjson.Change{Model: e.cfg.Model, Add: add, Usage: e.cfg.StreamUsage, Fields: e.fields}
	inner, cancel := context.WithCancelCause(ctx)
	c := &call{expert: e, outer: ctx, ctx: inner, cancel: cancel, end: end, first: p.time, stripUsage: r.Stream && !r.Usage && e.cfg.StreamUsage}
	c.timer = c.after(p.time, p.cause)
	a, err := c.send(r.With(change), headers, r.Stream)
	if err == nil && c.stripUsage && a.refusesUsage() {
		_ = c.body.Close() // it was read
		change.Usage, c.stripUsage = false, false
		a, err = c.send(r.With(change), headers, r.Stream)
	}
	switch {
	case err != nil:
		c.close(err)
	case a.Empty:
		c.close(context.Canceled) // says nothing about the expert
	case a.Stream == nil:
		c.close(nil)
	}
	return a, err
}

// refusesUsage reports whether a service refuses the field that asks for the usage of a stream.
func (a *Answer) refusesUsage() bool {
	return (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) &&
		(bytes.Contains(a.Body, []byte("stream_options")) || bytes.Contains(a.Body, []byte("include_usage")))
}

// call is a request in flight.
type call struct {
	expert     *Expert
	outer, ctx context.Context
	cancel     context.CancelCauseFunc
	timer      *time.Timer   // cancels the call
	first      time.Duration // of the timer, which begins again with each event before the first content
	end        func(error)
	body       io.ReadCloser // of the response, nil until there is one
	stripUsage bool
}

// after cancels the call after a time.
func (c *call) after(d time.Duration, cause error) *time.Timer {
	return time.AfterFunc(d, func() { c.cancel(cause) })
}

// close ends the call and frees its connection. err is the result for the breaker.
func (c *call) close(err error) {
	c.timer.Stop()
	if c.outer.Err() != nil {
		err = context.Canceled // the caller left: that says nothing about the expert
	}
	if c.body != nil {
		_ = c.body.Close() // what was read is complete, or given up
	}
	c.cancel(nil)
	c.end(err)
}

func (c *call) send(body []byte, headers http.Header, stream bool) (*Answer, error) {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.expert.url, bytes.NewReader(body))
	if err != nil {
		return nil, c.broken(err)
	}
	c.expert.setHeaders(r.Header, headers, stream)
	response, err := c.expert.client.Do(r)
	if err != nil {
		return nil, c.broken(err)
	}
	c.body = response.Body
	in, err := c.decoded(response)
	if err != nil {
		return nil, err
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK && stream:
		return c.begin(response, in)
	case code == http.StatusOK:
		return c.whole(response, in)
	}
	return c.refused(response, in)
}

// setHeaders sets the headers of a request.
func (e *Expert) setHeaders(h, more http.Header, stream bool) {
	for name, values := range more {
		h[name] = values
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity")
	h.Set("User-Agent", "pipe")
	h.Set("Accept", "application/json")
	if stream {
		h.Set("Accept", "text/event-stream")
	}
	if e.key != "" {
		h.Set("Authorization", "Bearer "+string(e.key))
	}
	for name, value := range e.cfg.Headers {
		h.Set(name, string(value))
	}
}

// broken is the error of a call that ended without a complete answer.
func (c *call) broken(err error) error {
	if c.outer.Err() != nil {
		return context.Cause(c.outer)
	}
	e, t := c.expert, c.expert.cfg.Timeouts
	switch cause := context.Cause(c.ctx); cause {
	case errFirstByte:
		return e.fault("timeout", cause, "nothing of the stream came within %v", t.FirstByte)
	case errAnswer:
		return e.fault("timeout", cause, "the answer was not complete after %v", t.Answer)
	case errIdle:
		return e.fault("timeout", cause, "the stream stopped for %v", t.Idle)
	case errWhole:
		return e.fault("timeout", cause, "the answer did not end within %v", t.Whole)
	}
	var op *net.OpError
	f := e.fault("cut", err, "the connection was closed before the answer was complete")
	switch hint := service.CertificateHint(err); {
	case hint != "":
		f = e.fault("connect", err, "%s", hint)
	case errors.As(err, &op) && op.Op == "dial":
		f = e.fault("connect", err, "no connection")
	case c.body == nil:
		f = e.fault("cut", err, "no response that is HTTP")
	}
	f.Detail = e.detail([]byte(service.WithoutURL(err).Error()))
	f.cause = nil // its text may hold more than the detail
	return f
}

// decoded returns the body of a response without compression, which was not asked for.
func (c *call) decoded(response *http.Response) (io.Reader, error) {
	switch kind := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); kind {
	case "", "identity":
		return response.Body, nil
	case "gzip", "x-gzip":
		in, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, c.broken(err)
		}
		return in, nil
	}
	return nil, c.expert.fault("encoding", nil, "the answer is compressed in a way that was not asked for")
}

// whole reads a whole answer.
func (c *call) whole(response *http.Response, in io.Reader) (*Answer, error) {
	e := c.expert
	text, err := io.ReadAll(io.LimitReader(in, int64(e.cfg.MaxAnswer)+1))
	if err != nil {
		return nil, c.broken(err)
	}
	if len(text) > e.cfg.MaxAnswer {
		return nil, e.fault("too_large", nil, "the answer is longer than %d bytes", e.cfg.MaxAnswer)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, e.fault("empty", nil, "the answer is empty")
	}
	text = e.clean(text)
	read, err := chatjson.ReadAnswer(text)
	switch {
	case err != nil:
		f := e.fault("invalid", nil, "%s", notChat("the answer", err))
		f.Detail = e.detail(text)
		return nil, f
	case read.Error != nil:
		f := e.fault("error", nil, "an error came instead of an answer")
		f.Detail = e.detail(read.Error)
		return nil, f.used(read.Model, read.Usage)
	case !read.Content && read.Cut == "":
		return nil, e.fault("empty", nil, "the answer has neither text nor a tool call").used(read.Model, read.Usage)
	}
	header := e.passed(response.Header)
	header.Set("Content-Type", "application/json") // whatever the service calls it: clients read it by its type
	a := &Answer{Status: http.StatusOK, Header: header, Body: text, Model: read.Model, Usage: read.Usage.For(read.Content)}
	if !read.Content {
		a.Empty, a.Own = true, noContent(read.Cut)
	}
	return a, nil
}

// noContent says why an answer has no content.
func noContent(cut string) string { return "no content, with the finish reason " + cut }

// notChat says why an answer, or a part of one, is none.
func notChat(what string, err error) string {
	if errors.Is(err, chatjson.ErrRepeated) {
		return what + " repeats a key, so that programs would read it differently"
	}
	return what + " is not a chat completion"
}

// refused reads a response with another status than 200.
func (c *call) refused(response *http.Response, in io.Reader) (*Answer, error) {
	e, code := c.expert, response.StatusCode
	text, err := io.ReadAll(io.LimitReader(in, maxRefusal))
	if err != nil && (c.outer.Err() != nil || context.Cause(c.ctx) != nil) {
		return nil, c.broken(err)
	}
	if callerMade(code) {
		for _, h := range e.hidden {
			text = []byte(h.Redact(string(text)))
		}
		header := e.passed(response.Header)
		header.Set("Content-Type", "application/json") // whatever the service calls it
		if !json.Valid(text) {                         // such as a page, which a browser must not run
			header.Set("Content-Type", "text/plain; charset=utf-8")
		}
		return &Answer{Status: code, Header: header, Body: text, Own: ownRefusal(code, text)}, nil
	}
	f := e.fault("status", nil, "HTTP %d %s", code, http.StatusText(code))
	if code >= 300 && code < 400 {
		f = e.fault("redirect", nil, "HTTP %d: redirects are not followed", code)
	}
	f.Status, f.Detail, f.After = code, e.detail(text), waitOf(response.Header)
	return nil, f
}

// waitOf returns the whole seconds of Retry-After, at most an hour; "" if the service asks for no wait.
func waitOf(h http.Header) string {
	wait := min(service.RetryAfter(h, time.Now()), service.LongestRest)
	if wait <= 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(wait.Seconds())))
}

// passedHeaders are the headers of experts that are passed on under the same name. Others are about the connection, the
// gateway's account at the service, or unknown.
var passedHeaders = []string{"Content-Type", "Openai-Processing-Ms", "Openai-Version"}

// RequestIDHeader carries the id that a service gave to a request.
const RequestIDHeader = "X-Pipe-Expert-Request-Id"

// passed returns the headers of a response that are passed on.
func (e *Expert) passed(h http.Header) http.Header {
	out := make(http.Header)
	for _, name := range passedHeaders {
		if v := h.Get(name); v != "" {
			out.Set(name, e.header(v))
		}
	}
	if id := h.Get("X-Request-Id"); id != "" {
		out.Set(RequestIDHeader, e.header(id))
	}
	return out
}

// header returns a value of a header without secrets and not too long.
func (e *Expert) header(value string) string {
	const most = 256
	return string(e.clean([]byte(value[:min(len(value), most)])))
}

// isStream reports whether a response is a stream of events, or does not say what it is.
func isStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return h.Get("Content-Type") == "" || err == nil && kind == "text/event-stream"
}
