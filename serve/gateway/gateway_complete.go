package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/capability"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/wishes"
)

// chat is one chat request and its state.
type chat struct {
	*backends
	api     *API
	w       http.ResponseWriter
	r       *http.Request
	began   time.Time
	request *protocol.Incoming
	headers http.Header // for experts
	resumed *resumed    // the response that the conversation goes on from; nil: none
	last    []byte      // the last event of a streamed response, if the conversation is kept

	deadline time.Duration      // of the caller, after which an answer is late; 0: that of the settings
	turn     *turn              // of the conversation; nil: none
	needs    *capability.Needs  // of the request; nil: not asked for yet
	lacking  capability.Lacking // experts that were left out, because they cannot take the request
	budgets  *spending          // nil: there are none
	wishes   wishes.Wishes      // what the request changes of its decision
	span     *streamSpan        // of the stream that is passed on; nil: none

	conversation decision.Messages // that a policy decides on
	executed     []bool            // pairs whose answers are at hand, at a later decision of a cascade; nil: it is the first one
	spent        time.Duration     // until then
}

// maxBody is the largest request in bytes. The server may have a lower limit.
const maxBody = 256 << 20

// answer returns the handler of a protocol of callers.
func (a *API) answer(caller protocol.Caller) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b := a.acquire()
		defer a.release(b)
		c := &chat{api: a, backends: b, w: w, r: r, began: time.Now(), headers: b.settings.forwardedHeaders(r.Header)}
		if !c.read(caller) {
			return
		}
		if name, ok := policyOf(c.request.Model); ok && c.request.Routable() {
			c.route(name)
			return
		}
		c.callByName()
	}
}

// read reads the request. It answers one that cannot be read, and returns false.
func (c *chat) read(caller protocol.Caller) bool {
	w, r := c.w, c.r
	if caller == protocol.Messages || caller == protocol.CountTokens {
		w.Header().Set("Request-Id", r.Header.Get("X-Request-Id")) // where Anthropic's clients look for it
		copyHeaders(c.headers, r.Header, "Anthropic-Version", "Anthropic-Beta")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		c.failAs(caller, &failure{http.StatusUnsupportedMediaType, invalidRequest, "compressed", "", "compressed requests are not read: send the body as it is"})
		return false
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		c.request, err = caller.ReadRequest(bytes.TrimPrefix(text, []byte("\ufeff"))) // the byte order mark that some programs write
	}
	if err == nil && caller != protocol.Chat && len(c.request.Middle().Malformed) > 0 {
		err = c.request.Middle().Malformed[0]
	}
	if err == nil {
		err = c.readWishes()
	}
	if err != nil {
		c.failAs(caller, unreadable(err))
		return false
	}
	return caller != protocol.Responses || c.resume()
}

// readWishes takes what the request changes of its decision from its headers and its body.
func (c *chat) readWishes() error {
	text, rest, err := c.request.Cut(wishes.Field)
	if err != nil {
		return err
	}
	c.request = rest
	c.wishes, err = wishes.Read(text, c.r.Header)
	return err
}

// copyHeaders copies headers.
func copyHeaders(to, from http.Header, names ...string) {
	for _, name := range names {
		if v := from[name]; len(v) > 0 {
			to[name] = v
		}
	}
}

// callByName answers a request that names an expert, or the model of one, in place of a policy. No policy decides, and there
// is no fallback.
func (c *chat) callByName() {
	name := c.request.Model
	e := c.named(name)
	switch _, isPolicy := policyOf(name); {
	case c.request.Format == protocol.CountTokens && (isPolicy || e != nil && !e.Kind().Passes(protocol.CountTokens)):
		c.estimateTokens()
		return
	case isPolicy:
		c.fail(&failure{http.StatusBadRequest, invalidRequest, "not_routed", "model", "a policy routes no " + c.request.Format.Name() + ": name an expert; GET /v1/models lists them"}, "")
		return
	case e == nil:
		c.fail(unknownModel(name), "")
		return
	}
	var hold *held
	var err error
	free := c.request.Format == protocol.CountTokens // services count tokens without charge
	if !free {
		c.budgets, err = c.beginSpending("")
	}
	defer c.budgets.end()
	if err == nil {
		hold, err = c.budgets.hold(e, nil)
	}
	if err != nil {
		c.spendingFailed(err)
		return
	}
	answer, span, err := c.spanned(e.CallLast, e, "")(c.r.Context(), c.requestFor(e), nil, c.headers)
	c.span = span
	if err != nil {
		hold.failed(e, err)
		c.chargeFailed(e, err)
		if c.clientGone() {
			return
		}
		c.warn("an expert failed", e.Name, err)
		c.fail(expertsFailure(err.Error(), err))
		return
	}
	c.w.Header().Set(headerExpert, e.Name)
	out := c.send(e, answer)
	if !free {
		c.charge(e, &out)
	}
	hold.answered(&out)
}

// named returns the expert of a name, or of the name of its model; nil: there is none.
func (c *chat) named(name string) *expert.Expert {
	if e := c.experts[name]; e != nil {
		return e
	}
	return c.byModel[name]
}

// headerEstimated says that a count of tokens is an estimate, and how it was made.
const headerEstimated = "X-Pipe-Estimated"

// estimateTokens answers a count of tokens that no service can make: which expert will answer is not known, or its protocol
// has no count.
func (c *chat) estimateTokens() {
	c.w.Header().Set(headerEstimated, "a token for every 4 bytes of the request")
	writeJSON(c.w, map[string]int{"input_tokens": max(1, c.request.Len()/bytesPerToken)})
}

// clientGone reports whether the client has disconnected, and logs it if so.
func (c *chat) clientGone() bool {
	if !clientGone(c.r.Context()) {
		return false
	}
	c.api.log.LogAttrs(c.r.Context(), slog.LevelInfo, "the client disconnected before its answer was complete; the call of the expert is cancelled", c.id(), slog.Int("status", statusGone))
	return true
}

// id is the log attribute with the request's id.
func (c *chat) id() slog.Attr { return slog.String("request", c.r.Header.Get("X-Request-Id")) }

// warn logs a failure of an expert. The text of the service may quote the conversation, so it is logged at level debug only.
func (c *chat) warn(what, name string, err error) {
	ctx := c.r.Context()
	attrs := []slog.Attr{c.id(), slog.String("expert", name), slog.String("error", err.Error())}
	if c.api.log.Enabled(ctx, slog.LevelDebug) {
		attrs = append(attrs, slog.String("detail", detailOf(err)))
	}
	c.api.log.LogAttrs(ctx, slog.LevelWarn, what, attrs...)
}

// detailOf is the text of a service about its failure, without secrets.
func detailOf(err error) string {
	var fault *expert.Failure
	var unfetched *advice.Error
	switch {
	case errors.As(err, &fault):
		return fault.Detail
	case errors.As(err, &unfetched):
		return unfetched.Detail
	}
	return ""
}

// fail answers with an error; wait is the value of Retry-After, "" for none.
func (c *chat) fail(f *failure, wait string) {
	if wait != "" {
		c.w.Header().Set("Retry-After", wait)
	}
	c.failAs(c.request.Format, f)
}

// failAs answers with an error in a protocol, and counts and logs why.
func (c *chat) failAs(caller protocol.Caller, f *failure) {
	field := fieldOf(f.param)
	c.api.metrics.Failed(caller.Name(), f.code, field)
	c.api.log.LogAttrs(c.r.Context(), slog.LevelDebug, "a request is answered with an error", c.id(), slog.String("protocol", caller.Name()),
		slog.Int("status", f.status), slog.String("code", f.code), slog.String("field", field))
	writeErrorTo(c.w, caller, f)
}

// The response headers of the gateway.
const (
	headerDecision  = "X-Pipe-Decision"      // id of the decision, for /v1/outcomes
	headerPolicy    = "X-Pipe-Policy"        // name@digest of the policy
	headerExpert    = "X-Pipe-Expert"        // the expert that answered
	headerAdvice    = "X-Pipe-Advice"        // the advice that it was shown
	headerCost      = "X-Pipe-Expected-Cost" // of the pair that answered, if the policy estimates costs
	headerFallbacks = "X-Pipe-Fallbacks"     // pairs that were tried before it
	headerServed    = "X-Pipe-Served-Model"  // the model that answered, if it is not the configured one
	// The setting without_text, if it chose the pair in place of the policy.
	headerWithoutText = "X-Pipe-Without-Text"
)

// outcome is the result of passing an answer on.
type outcome struct {
	model     string
	usage     expert.Usage
	estimate  int64 // of the tokens of the answer, if the usage is not known
	err       error // why the answer is not complete; nil if it is
	refused   bool  // the expert refused the request
	status    int
	firstByte time.Duration // since the request arrived
	fee       expert.Fee
}

// send writes an answer to the client and closes it.
func (c *chat) send(e *expert.Expert, answer *expert.Answer) outcome {
	out := outcome{model: answer.Model, usage: answer.Usage, status: answer.Status, refused: answer.Status != http.StatusOK}
	h := c.w.Header()
	h.Set("X-Content-Type-Options", "nosniff") // browsers must not take an answer for a page
	for name, values := range answer.Header {
		h[name] = values
	}
	if out.model != "" && !e.Serves(out.model) {
		h.Set(headerServed, headerValue(out.model))
	}
	if answer.Stream == nil {
		c.keepWhole(e.Name, answer)
		h.Set("Content-Length", strconv.Itoa(len(answer.Body)))
		c.w.WriteHeader(answer.Status)
		out.firstByte = time.Since(c.began)
		_, out.err = c.w.Write(answer.Body)
		out.estimate = int64(len(answer.Body) / bytesPerToken)
		return out
	}
	defer answer.Stream.Close()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	out.firstByte, out.err = c.stream(answer.Stream)
	end := answer.Stream.End()
	out.model, out.usage, out.estimate = end.Model, end.Usage, int64(end.Chunks)
	if out.err == nil && end.Failed {
		out.err = errors.New("the service sent an error within its stream")
	}
	if out.err == nil {
		c.keepStream(e.Name)
	}
	c.span.end(c.r.Context(), e, &out)
	return out
}

// stream writes events to the client as they arrive.
func (c *chat) stream(s *expert.Stream) (first time.Duration, err error) {
	control := http.NewResponseController(c.w)
	for {
		raw, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return first, nil
		case err != nil && clientGone(c.r.Context()):
			return first, err
		case err != nil:
			c.abortStream(err)
			return first, err
		}
		c.watchEnd(raw)
		if _, err := c.w.Write(raw); err != nil {
			return first, err
		}
		if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return first, err
		}
		if first == 0 {
			first = time.Since(c.began)
		}
	}
}

// abortStream ends a broken stream with an error event of the caller's protocol, so that no client takes a part of an answer for a
// complete one.
func (c *chat) abortStream(err error) {
	f, _ := expertsFailure(err.Error(), err)
	f.msg = "the answer is not complete: " + err.Error()
	_, _ = c.w.Write(c.request.Format.ErrorEvent(f.problem())) // the client may be gone
	_ = http.NewResponseController(c.w).Flush()
}

// charge computes the fee of an answer and charges the caller for it. A refused request costs nothing.
func (c *chat) charge(e *expert.Expert, out *outcome) {
	out.fee = e.Fee(out.model, out.usage, time.Now())
	if out.refused {
		out.fee = expert.Fee{}
		return
	}
	a := c.api
	if out.fee.Other {
		a.metrics.OtherModel(e.Name)
		if a.otherModels.first(e.Name, out.model) {
			a.log.LogAttrs(c.r.Context(), slog.LevelWarn, "an expert answers with another model than the configured one", c.id(),
				slog.String("expert", e.Name), slog.String("configured", e.Model()), slog.String("served", headerValue(out.model)), slog.Bool("price_known", out.fee.Known))
		}
	}
	if out.usage.Reason != "" {
		a.log.LogAttrs(c.r.Context(), slog.LevelWarn, "the usage that an expert reported is not plausible", c.id(), slog.String("expert", e.Name), slog.String("reason", out.usage.Reason))
	}
	if out.usage.Known {
		c.chargeUsage(e, out.model, out.usage, out.fee)
		return
	}
	c.chargeEstimate(e, out.model, out.estimate)
}

// chargeUsage charges the caller for a usage that the service reported, and counts its fee. If cached tokens or those of special kinds
// have no price, the caller is charged as if all were plain, so that a limit of money cannot be evaded.
func (c *chat) chargeUsage(e *expert.Expert, model string, used expert.Usage, fee expert.Fee) {
	c.api.metrics.Fee(e.Name, fee.Money)
	money := fee.Money
	if !fee.Known {
		money = e.Fee(model, used.Plain(), time.Now()).Money
	}
	access.CallerOf(c.r.Context()).Charge(used.In+used.Out, money)
}

// chargeFailed charges the caller for a failed call: for the usage that the service reported, or for an estimate if the
// caller disconnected. It returns a text about the reported usage for the log, "" without one.
func (c *chat) chargeFailed(e *expert.Expert, err error) string {
	if fault, ok := errors.AsType[*expert.Failure](err); ok && fault.Usage.Known {
		used := fault.Usage
		c.chargeUsage(e, fault.Model, used, e.Fee(fault.Model, used, time.Now()))
		return fmt.Sprintf("; charged: %d tokens of the prompt, %d of the completion", used.In, used.Out)
	}
	if clientGone(c.r.Context()) {
		c.chargeEstimate(e, "", 0)
	}
	return ""
}

// bytesPerToken is the estimate for services that do not report their usage.
const bytesPerToken = 4

// chargeEstimate charges the caller for a call whose usage is not known, so that a limit cannot be evaded by disconnecting
// early.
func (c *chat) chargeEstimate(e *expert.Expert, model string, out int64) {
	used := expert.Usage{Known: true}
	used.In, used.Out = int64(c.request.Len()/bytesPerToken), out
	fee := e.Fee(model, used, time.Now())
	access.CallerOf(c.r.Context()).Charge(used.In+used.Out, fee.Money)
}

// headerValue makes a text of a service safe for a header: short, and printable ASCII.
func headerValue(text string) string {
	const most = 128
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}

// withDeadline returns a context that is cancelled with errDeadline after a time, unless stop is called before.
func withDeadline(ctx context.Context, d time.Duration) (_ context.Context, stop func() bool, cancel context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	return inner, time.AfterFunc(d, func() { cancel(errDeadline) }).Stop, cancel
}
