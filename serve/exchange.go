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
)

// requestLogger is what happens to every request, whatever it asks for: an id, time limits, a count, a line in the log, and an
// answer where its handler ends in a panic.
type requestLogger struct {
	limits   access.Limits
	requests string // which requests are logged: all, errors or none
	metrics  *metrics.Metrics
	figures  *dashboard.Collector
	log      *slog.Logger
}

// exchange is a request and what has become of it so far.
type exchange struct {
	http.ResponseWriter
	control  *http.ResponseController
	limits   access.Limits
	route    string
	caller   string
	status   int
	bytes    int64
	written  time.Time     // when the client last had to take something
	http2    bool          // of HTTP/2, where a deadline ends a stream also while nothing is written
	routed   *http.Request // that the mux got; nil before
	replaced bool          // of what the mux writes, an error was sent
	bodyRead bool          // of the body, something was
	bodyDone bool          // and all of it
}

type exchangeKey struct{}

// wrap is the outermost handler.
func (o *requestLogger) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		x := &exchange{ResponseWriter: w, control: http.NewResponseController(w), limits: o.limits, http2: r.ProtoMajor > 1}
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		id, trace := requestID(r.Header.Get(headerRequest)), traceFor(r.Header.Get(headerTrace))
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

// innermost is the innermost handler: it keeps what only the mux and access know.
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

// ended counts and logs a request. A handler that ended in a panic is answered with 500 where nothing was sent; else the
// connection is cut, so that the client does not take half an answer for a whole one.
func (o *requestLogger) ended(r *http.Request, x *exchange, began time.Time, trace string, panicked any) {
	cut := panicked != nil && x.status != 0
	if panicked != nil && panicked != http.ErrAbortHandler { //nolint:errorlint // the value itself is the signal
		o.metrics.Panic()
		o.log.Error("a handler ended in a panic", "request", r.Header.Get(headerRequest), "route", x.route, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		if !cut {
			access.WriteError(x, r, http.StatusInternalServerError, "server_error", "panic", "the server failed; its log has the reason under this request's id")
		}
	}
	x.extendWriteDeadline(time.Now()) // what is buffered is sent after this
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.route == "" {
		x.route = "none"
	}
	took := time.Since(began)
	o.metrics.Request(x.route, x.status, took)
	if r.Method == http.MethodPost { // the page is about what is asked for, not about who looks
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

// extendWriteDeadline gives the client more time to take what is written.
func (x *exchange) extendWriteDeadline(now time.Time) {
	if !x.http2 && now.Sub(x.written) < min(time.Second, x.limits.WriteTime/10) {
		return
	}
	x.written = now
	_ = x.control.SetWriteDeadline(now.Add(x.limits.WriteTime)) // not every writer of tests has one
}

// clearWriteDeadline ends the limit of time until something is written again: a handler may wait longer for an expert.
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

// writeRouteError answers a request that the mux has no handler for, in the form of all errors, in place of the mux's plain text.
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

// Flush sends what was written, for handlers that stream.
func (x *exchange) Flush() {
	x.extendWriteDeadline(time.Now())
	_ = x.control.Flush() // a writer that cannot flush sends later
	x.clearWriteDeadline()
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// limitBody bounds the bytes of a request's body and the time in which it is read.
func (x *exchange) limitBody(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.limits.BodyTime)) // as above
	r.Body = &body{http.MaxBytesReader(x.ResponseWriter, r.Body, int64(x.limits.Body)), x}
}

// body is the body of a request. When it has been read, the limit of time ends, because the connection is read further to
// learn when the client goes away.
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

// What is read, and how long, of a body that nobody wanted.
const (
	drainBytes = 256 << 20
	drainTime  = 10 * time.Second
)

// drain reads what is left of a body after its request was answered, such as one that is too long. A client that sends all of a
// body before it reads would find its connection reset otherwise, and no answer. HTTP/2 has another way to stop it.
func (x *exchange) drain(r *http.Request, sent io.ReadCloser) {
	waits := !x.bodyRead && r.Header.Get("Expect") != "" // it sends a body only if it is asked for
	if sent == nil || sent == http.NoBody || x.bodyDone || x.http2 || waits {
		return
	}
	x.Flush()
	_ = x.control.SetReadDeadline(time.Now().Add(min(drainTime, x.limits.BodyTime))) // as above
	_, _ = io.CopyN(io.Discard, sent, drainBytes)                                    // whatever ends it, the request was answered
}
