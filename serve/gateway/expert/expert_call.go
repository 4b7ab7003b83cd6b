package expert

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipe/experts/service"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/patience"
	"pipe/serve/gateway/protocol"
)

// Usage are the tokens that a call used.
type Usage = chatjson.Usage

// The causes with which calls are cancelled.
var (
	errFirstByte = errors.New("no first content in time")
	errAnswer    = errors.New("no answer in time")
	errIdle      = errors.New("no further event in time")
	errWhole     = errors.New("the answer did not end in time")
	errSilent    = errors.New("no sign of life on this and all later calls")
)

// Answer is the response of an expert: a complete answer, a stream, an answer without content, or a refused request.
type Answer struct {
	Status         int         // 200, or a status from 400 to 499 for a refused request
	Header         http.Header // headers for the caller
	Body           []byte      // the complete body; nil for a stream with content
	Stream         *Stream     // nil: the answer is not a stream. The caller closes it
	Model          string      // that answered, "" if the service did not name it; for a stream see Stream.End
	Usage          Usage       // of a complete answer
	OtherMayAnswer string      // why another expert may still answer; "" for an answer with content, and for a request that is wrong
	AdviceRefused  bool        // a refusal that names a field of the advice: the expert may still answer under another one
	Empty          bool        // no content, because a token limit or a content filter ended it. That may be the caller's fault, so it is no failure
}

// Call sends a request and returns when there is something to pass on: the complete answer, or the first content of a
// stream. headers are sent with it. A *Failure means that another expert can be called. Any other error is that of ctx.
func (e *Expert) Call(ctx context.Context, r *protocol.Incoming, add *chatjson.Addition, headers http.Header) (*Answer, error) {
	t := e.cfg.Timeouts
	if r.Stream {
		return e.call(ctx, r, add, headers, callTimeout{t.FirstByte, errFirstByte})
	}
	return e.call(ctx, r, add, headers, callTimeout{t.Answer, errAnswer})
}

// CallLast is Call for the last expert that can answer. A slow call is not cancelled before Timeouts.Whole.
func (e *Expert) CallLast(ctx context.Context, r *protocol.Incoming, add *chatjson.Addition, headers http.Header) (*Answer, error) {
	return e.call(ctx, r, add, headers, callTimeout{e.cfg.Timeouts.Whole, errWhole})
}

// callTimeout is the longest wait for the first content of a stream, or for a complete answer, and the cause with which the
// call is cancelled after it.
type callTimeout struct {
	after time.Duration
	cause error
}

func (e *Expert) call(ctx context.Context, r *protocol.Incoming, add *chatjson.Addition, headers http.Header, p callTimeout) (*Answer, error) {
	w, err := e.writing(r, add)
	if err != nil {
		return nil, err
	}
	body, err := w.write(e.cfg.StreamUsage)
	if err != nil {
		return e.refuse(r, err), nil
	}
	inner, cancel := context.WithCancelCause(ctx)
	end, err := e.begin()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	c := &call{expert: e, outer: ctx, ctx: inner, cancel: cancel, end: end, timeout: p.after, writing: w}
	c.stripUsage = !w.translate && r.Stream && !r.Usage && e.cfg.StreamUsage
	c.wait = e.patience.Begin(r.Stream, r.Tokens())
	if p.cause != errWhole { // another expert could answer
		c.timeout = c.wait.Allow(p.after, func() { cancel(errSilent) })
	}
	c.timer = c.cancelAfter(c.timeout, p.cause)
	returned := false
	defer func() {
		if !returned { // after a panic, which is the server's to handle
			c.close(context.Canceled)
		}
	}()
	a, err := c.send(body, headers, r.Stream)
	if err == nil && r.Stream && e.cfg.StreamUsage && (c.stripUsage || w.translate) && a.refusesUsage() {
		_ = c.body.Close() // it was read
		c.stripUsage = false
		if body, err = w.write(false); err == nil {
			a, err = c.send(body, headers, r.Stream)
		}
	}
	if cut := c.wait.End(err == nil && a.Status == http.StatusOK && !a.Empty); cut && err == nil && a.Stream != nil {
		a, err = a.Stream.abandon(c.transportError(errSilent)) // it was cut while its first content came
	}
	if err == nil && refusesFields(a.Status, a.Body, w.fields) {
		a.AdviceRefused, a.OtherMayAnswer = true, "it does not take the fields of its advice"
	}
	switch {
	case err != nil:
		c.close(err)
	case a.Empty:
		c.close(context.Canceled) // the circuit breaker ignores it
	case a.Stream == nil:
		c.close(nil)
	}
	returned = true
	return a, err
}

// refusesUsage reports whether a service refused the field that asks for the usage of a stream.
func (a *Answer) refusesUsage() bool {
	return (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) &&
		(bytes.Contains(a.Body, []byte("stream_options")) || bytes.Contains(a.Body, []byte("include_usage")))
}

// call is a running call.
type call struct {
	expert     *Expert
	outer, ctx context.Context
	cancel     context.CancelCauseFunc
	timer      *time.Timer   // cancels the call
	timeout    time.Duration // of the timer, which restarts with every event before the first content
	wait       *patience.Wait
	end        func(error)
	body       io.ReadCloser // of the response, nil until there is one
	stripUsage bool
	writing    *writing // of the request
}

// cancelAfter cancels the call with a cause after a time.
func (c *call) cancelAfter(d time.Duration, cause error) *time.Timer {
	return time.AfterFunc(d, func() { c.cancel(cause) })
}

// close ends the call and frees its connection. err is the result for the circuit breaker.
func (c *call) close(err error) {
	c.timer.Stop()
	if c.outer.Err() != nil {
		err = context.Canceled // the caller disconnected, which the circuit breaker ignores
	}
	if c.body != nil {
		_ = c.body.Close() // the rest of the body is not needed
	}
	c.cancel(nil)
	c.end(err)
}

func (c *call) send(body []byte, headers http.Header, stream bool) (*Answer, error) {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.expert.urlOf(c.writing.format, stream), bytes.NewReader(body))
	if err != nil {
		return nil, c.transportError(err)
	}
	c.expert.setHeaders(r.Header, headers, stream)
	if err := c.writing.sign(r, body); err != nil {
		return nil, err
	}
	response, err := c.expert.client.Do(r)
	if err != nil {
		return nil, c.transportError(err)
	}
	c.body = response.Body
	in, err := c.decoded(response)
	if err != nil {
		return nil, err
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK && stream:
		return c.readStream(response, in)
	case code == http.StatusOK:
		return c.readAnswer(response, in)
	}
	return c.readRefusal(response, in)
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
	if e.kind.Format != protocol.Messages {
		h.Del("Anthropic-Version")
		h.Del("Anthropic-Beta")
	}
	e.kind.Authorize(h, string(e.key))
	for name, value := range e.cfg.Headers {
		h.Set(name, string(value))
	}
}

// transportError describes why a call ended without a complete answer.
func (c *call) transportError(err error) error {
	if c.outer.Err() != nil {
		return context.Cause(c.outer)
	}
	e, t := c.expert, c.expert.cfg.Timeouts
	switch cause := context.Cause(c.ctx); cause {
	case errFirstByte:
		return e.failure("timeout", cause, "no event of the stream arrived within %v", c.timeout)
	case errAnswer:
		return e.failure("timeout", cause, "the answer was not complete after %v", c.timeout)
	case errSilent:
		return e.failure("timeout", cause, "the expert showed no sign of life on this and all later calls")
	case errIdle:
		return e.failure("timeout", cause, "the stream stopped for %v", t.Idle)
	case errWhole:
		return e.failure("timeout", cause, "the answer did not end within %v", t.Whole)
	}
	var op *net.OpError
	f := e.failure("cut", err, "the connection was closed before the answer was complete")
	switch hint := service.CertificateHint(err); {
	case hint != "":
		f = e.failure("connect", err, "%s", hint)
	case errors.As(err, &op) && op.Op == "dial":
		f = e.failure("connect", err, "no connection")
	case c.body == nil:
		f = e.failure("cut", err, "the response is not HTTP")
	}
	f.Detail = e.detail([]byte(service.WithoutURL(err).Error()))
	f.cause = nil // its text may contain more than the detail
	return f
}

// decoded returns the body of a response. Some services compress it although they were asked not to.
func (c *call) decoded(response *http.Response) (io.Reader, error) {
	switch kind := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); kind {
	case "", "identity":
		return response.Body, nil
	case "gzip", "x-gzip":
		in, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, c.transportError(err)
		}
		return in, nil
	}
	return nil, c.expert.failure("encoding", nil, "the answer has a compression that was not requested")
}

// readAnswer reads a complete answer.
func (c *call) readAnswer(response *http.Response, in io.Reader) (*Answer, error) {
	e := c.expert
	text, err := io.ReadAll(io.LimitReader(in, int64(e.cfg.MaxAnswer)+1))
	if err != nil {
		return nil, c.transportError(err)
	}
	if len(text) > e.cfg.MaxAnswer {
		return nil, e.failure("too_large", nil, "the answer is longer than %d bytes", e.cfg.MaxAnswer)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, e.failure("empty", nil, "the answer is empty")
	}
	text = e.redact(text)
	read, err := protocol.ReadFacts(c.writing.format, text)
	switch {
	case err != nil:
		f := e.failure("invalid", nil, "%s", c.writing.notAnswer("the answer", err))
		f.Detail = e.detail(text)
		return nil, f
	case read.Error != nil:
		f := e.failure("error", nil, "an error came instead of an answer")
		f.Detail = e.detail(read.Error)
		return nil, f.withUsage(read.Model, read.Usage)
	case !read.Content && read.Cut == "":
		return nil, e.failure("empty", nil, "the answer has neither text nor a tool call").withUsage(read.Model, read.Usage)
	}
	if text, err = c.writing.answer(text); err != nil {
		f := e.failure("invalid", nil, "the answer cannot be passed on: %s", err.Error())
		return nil, f.withUsage(read.Model, read.Usage)
	}
	header := e.passed(response.Header)
	header.Set("Content-Type", "application/json") // whatever the service sent: clients parse an answer by its type
	c.writing.setHeader(header)
	a := &Answer{Status: http.StatusOK, Header: header, Body: text, Model: read.Model, Usage: read.Usage.For(read.Content && c.writing.format != protocol.Embeddings && c.writing.format != protocol.CountTokens)}
	if !read.Content {
		a.Empty, a.OtherMayAnswer = true, noContent(read.Cut)
	}
	return a, nil
}

// noContent describes an answer without content.
func noContent(cut string) string { return "no content, with the finish reason " + cut }

// readRefusal reads a response with a status other than 200.
func (c *call) readRefusal(response *http.Response, in io.Reader) (*Answer, error) {
	e, code := c.expert, response.StatusCode
	text, err := io.ReadAll(io.LimitReader(in, maxRefusal))
	if err != nil && (c.outer.Err() != nil || context.Cause(c.ctx) != nil) {
		return nil, c.transportError(err)
	}
	if isCallerFault(code) {
		for _, h := range e.secrets {
			text = []byte(h.Redact(string(text)))
		}
		other := expertRefusal(code, text)
		text = c.writing.refusal(code, text)
		header := e.passed(response.Header)
		header.Set("Content-Type", "application/json") // whatever the service sent
		c.writing.setHeader(header)
		if !json.Valid(text) { // such as an HTML page, which a browser must not run
			header.Set("Content-Type", "text/plain; charset=utf-8")
		}
		return &Answer{Status: code, Header: header, Body: text, OtherMayAnswer: other}, nil
	}
	f := e.failure("status", nil, "HTTP %d %s", code, http.StatusText(code))
	if code >= 300 && code < 400 {
		f = e.failure("redirect", nil, "HTTP %d: redirects are not followed", code)
	}
	f.Status, f.Detail, f.After = code, e.detail(text), retryAfter(response.Header)
	return nil, f
}

// retryAfter returns the value of Retry-After in whole seconds, at most service.LongestRest; "" without one.
func retryAfter(h http.Header) string {
	wait := min(service.RetryAfter(h, time.Now()), service.LongestRest)
	if wait <= 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(wait.Seconds())))
}

// passedHeaders are the headers of experts that are passed on to the caller. All others are about the connection or the
// gateway's account at the service, or are unknown.
var passedHeaders = []string{"Content-Type", "Openai-Processing-Ms", "Openai-Version"}

// requestIDHeader is the response header with the id that the service gave to a request.
const requestIDHeader = "X-Pipe-Expert-Request-Id"

// passed returns the headers of a response for the caller.
func (e *Expert) passed(h http.Header) http.Header {
	out := make(http.Header)
	for _, name := range passedHeaders {
		if v := h.Get(name); v != "" {
			out.Set(name, e.header(v))
		}
	}
	if id := cmp.Or(h.Get("X-Request-Id"), h.Get("Request-Id")); id != "" {
		out.Set(requestIDHeader, e.header(id))
	}
	return out
}

// header returns the value of a header, shortened and without secrets.
func (e *Expert) header(value string) string {
	const most = 256
	return string(e.redact([]byte(value[:min(len(value), most)])))
}

// isStream reports whether a response is a stream of events, or has no content type.
func (e *Expert) isStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return h.Get("Content-Type") == "" || err == nil && (kind == "text/event-stream" || slices.Contains(e.kind.StreamTypes, kind))
}
