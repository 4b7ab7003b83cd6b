package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"pipe/serve/access"
	"pipe/serve/dashboard"
	"pipe/serve/metrics"
	"pipe/serve/telemetry"
)

// requestLogger is the outermost middleware. It gives a request an id and time limits, counts and logs it, and answers it if
// its handler panics.
type requestLogger struct {
	limits   access.Limits
	requests string // which requests are logged: all, errors or none
	metrics  *metrics.Metrics
	figures  *dashboard.Collector
	log      *slog.Logger
	traces   *telemetry.Telemetry // nil: none
}

// exchange is a request and the state of its response.
type exchange struct {
	http.ResponseWriter
	control  *http.ResponseController
	limits   access.Limits
	route    string
	caller   string
	status   int
	bytes    int64
	written  time.Time     // when the write deadline was last extended
	http2    bool          // an HTTP/2 stream, which a write deadline ends even if nothing is written
	routed   *http.Request // as the mux got it; nil before
	replaced bool          // an error was sent in place of the response of the mux
	bodyRead bool          // the handler has read from the body
	bodyDone bool          // the handler has read all of the body
	span     *telemetry.Span
}

type exchangeKey struct{}

// wrap returns the outermost handler.
func (o *requestLogger) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		x := &exchange{ResponseWriter: w, control: http.NewResponseController(w), limits: o.limits, http2: r.ProtoMajor > 1}
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		id, trace := requestID(r.Header.Get(headerRequest)), traceFor(r.Header.Get(headerTrace))
		if r.Method == http.MethodPost && o.traces != nil {
			r, x.span = o.traces.Request(r)
			trace, _ = parseTrace(r.Header.Get(headerTrace))
		}
		r.Header.Set(headerRequest, id)
		r.Header.Set(headerTrace, trace.String())
		w.Header().Set(headerRequest, id)
		sent := r.Body
		x.limitBody(r)
		defer func() {
			o.ended(r, x, began, trace.trace, recover())
			x.drain(r, sent)
		}()
		next.ServeHTTP(x, r)
	})
}

// innermost is the innermost handler. It stores the route and the caller for the log.
func innermost(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, ok := r.Context().Value(exchangeKey{}).(*exchange)
		if ok {
			x.caller = access.CallerOf(r.Context()).Name
			x.routed = r
			defer func() { x.route = r.Pattern }()
		}
		mux.ServeHTTP(w, r)
	})
}

// ended counts and logs a request. After a panic of the handler it answers with 500 if nothing was sent. Otherwise it closes
// the connection, so that the client does not take a part of the response for all of it.
func (o *requestLogger) ended(r *http.Request, x *exchange, began time.Time, trace string, panicked any) {
	cut := panicked != nil && x.status != 0
	if panicked != nil && panicked != http.ErrAbortHandler { //nolint:errorlint // the value itself is the signal
		o.metrics.Panic()
		o.log.Error("a handler ended in a panic", "request", r.Header.Get(headerRequest), "route", x.route, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		if !cut {
			access.WriteError(x, r, http.StatusInternalServerError, "server_error", "panic", "the server failed; its log has the reason under this request's id")
		}
	}
	x.extendWriteDeadline(time.Now()) // for buffered data, which is sent after this
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.route == "" {
		x.route = "none"
	}
	x.span.EndRequest(x.route, x.status)
	took := time.Since(began)
	o.metrics.Request(x.route, x.status, took)
	if r.Method == http.MethodPost { // the dashboard does not count its own requests
		o.figures.Request(x.route, x.status, took)
	}
	if o.requests == "all" || o.requests == "errors" && x.status >= 500 {
		o.log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("request", r.Header.Get(headerRequest)), slog.String("trace", trace),
			slog.String("method", r.Method), slog.String("route", x.route), slog.Int("status", x.status), slog.Int64("bytes", x.bytes),
			slog.Duration("took", took), slog.String("caller", x.caller), slog.String("from", r.RemoteAddr))
	}
	if cut || panicked == http.ErrAbortHandler { //nolint:errorlint // as above
		panic(http.ErrAbortHandler)
	}
}

// extendWriteDeadline gives the client more time to accept data.
func (x *exchange) extendWriteDeadline(now time.Time) {
	if !x.http2 && now.Sub(x.written) < min(time.Second, x.limits.WriteTime/10) {
		return
	}
	x.written = now
	_ = x.control.SetWriteDeadline(now.Add(x.limits.WriteTime)) // writers of tests may not support it
}

// clearWriteDeadline removes the deadline until the next write, because a handler may wait longer for an expert.
func (x *exchange) clearWriteDeadline() {
	if x.http2 {
		_ = x.control.SetWriteDeadline(time.Time{}) // as above
	}
}

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
		if x.routed != nil && x.routed.Pattern == "" && status >= 400 {
			x.writeRouteError(status)
			return
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// writeRouteError answers a request for which the mux has no handler, in the error format of the API in place of the plain
// text of the mux.
func (x *exchange) writeRouteError(status int) {
	code, message := "not_found", "this server has no "+x.routed.URL.Path
	if status == http.StatusMethodNotAllowed {
		code, message = "method_not_allowed", x.routed.URL.Path+" takes "+x.Header().Get("Allow")+" only, not "+x.routed.Method
	}
	if len(message) > maxMessage {
		message = message[:maxMessage] + "..."
	}
	r := x.routed
	x.routed = nil
	access.WriteError(x, r, status, "invalid_request_error", code, strings.ToValidUTF8(message, "?"))
	x.replaced = true
}

// maxMessage is the most bytes of a message that repeats a path.
const maxMessage = 200

func (x *exchange) Write(b []byte) (int, error) {
	if x.replaced {
		return len(b), nil
	}
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.extendWriteDeadline(time.Now())
	n, err := x.ResponseWriter.Write(b)
	x.clearWriteDeadline()
	x.bytes += int64(n)
	return n, err
}

// Flush sends buffered data, for handlers that stream.
func (x *exchange) Flush() {
	x.extendWriteDeadline(time.Now())
	_ = x.control.Flush() // a writer that cannot flush sends it later
	x.clearWriteDeadline()
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// limitBody limits the size of a body, and the time to read it.
func (x *exchange) limitBody(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.limits.BodyTime)) // as above
	r.Body = &body{http.MaxBytesReader(x.ResponseWriter, r.Body, int64(x.limits.Body)), x}
}

// body is the body of a request. At its end, the read deadline is removed, because the server goes on reading from the
// connection to notice when the client disconnects.
type body struct {
	io.ReadCloser
	of *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.bodyRead = true
	if errors.Is(err, io.EOF) {
		b.of.bodyDone = true
		_ = b.of.control.SetReadDeadline(time.Time{}) // as above
	}
	return n, err
}

// How much of an unread body is read, and for how long.
const (
	drainBytes = 256 << 20
	drainTime  = 10 * time.Second
)

// drain reads the rest of a body after the response, for example of one that is too long. Otherwise a client that sends all
// of the body before it reads would get a connection reset in place of the response. HTTP/2 does not need this.
func (x *exchange) drain(r *http.Request, sent io.ReadCloser) {
	waits := !x.bodyRead && r.Header.Get("Expect") != "" // the client sends the body only on request
	if sent == nil || sent == http.NoBody || x.bodyDone || x.http2 || waits {
		return
	}
	x.Flush()
	_ = x.control.SetReadDeadline(time.Now().Add(min(drainTime, x.limits.BodyTime))) // as above
	_, _ = io.CopyN(io.Discard, sent, drainBytes)                                    // errors do not matter, because the request was answered
}
