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
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
)

// chat is one request and what has become of it.
type chat struct {
	*backends
	api     *API
	w       http.ResponseWriter
	r       *http.Request
	began   time.Time
	request *chatjson.Request
	headers http.Header // for experts
}

// mostBody bounds a request, in bytes. Limits of the server may be lower.
const mostBody = 256 << 20

// complete answers POST /v1/chat/completions.
func (a *API) complete(w http.ResponseWriter, r *http.Request) {
	b := a.use()
	defer a.release(b)
	c := &chat{api: a, backends: b, w: w, r: r, began: time.Now(), headers: b.settings.sentOn(r.Header)}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		writeError(w, &failure{http.StatusUnsupportedMediaType, invalidRequest, "compressed", "", "compressed requests are not read: send the body as it is"})
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err == nil {
		c.request, err = chatjson.ReadRequest(bytes.TrimPrefix(text, []byte("\ufeff"))) // the byte order mark that some programs write
	}
	if err != nil {
		writeError(w, unreadable(err))
		return
	}
	if name, ok := policyOf(c.request.Model); ok {
		c.route(name)
		return
	}
	c.pass()
}

// pass answers a request for an expert by its name, or by that of its model. No policy decides, and no other expert is
// tried.
func (c *chat) pass() {
	name := c.request.Model
	e := c.experts[name]
	if e == nil {
		e = c.byModel[name]
	}
	if e == nil {
		writeError(c.w, unknownModel(name))
		return
	}
	answer, err := e.CallLast(c.r.Context(), c.request, nil, c.headers)
	if err != nil {
		c.chargeFailed(e, err)
		if c.left() {
			return
		}
		c.warn("an expert failed", e.Name, err)
		c.fail(unanswered(err.Error(), err))
		return
	}
	c.w.Header().Set(headerExpert, e.Name)
	out := c.send(e, answer)
	c.charge(e, &out)
}

// left reports whether the client is gone, and logs it then.
func (c *chat) left() bool {
	if !left(c.r.Context()) {
		return false
	}
	c.api.log.LogAttrs(c.r.Context(), slog.LevelInfo, "the client left before its answer was complete; the expert's call is cancelled", c.id(), slog.Int("status", statusGone))
	return true
}

// id is the request's id for logs.
func (c *chat) id() slog.Attr { return slog.String("request", c.r.Header.Get("X-Request-Id")) }

// warn logs a fault of an expert. What the service said may quote the conversation, so it is logged for debugging only.
func (c *chat) warn(what, name string, err error) {
	ctx := c.r.Context()
	attrs := []slog.Attr{c.id(), slog.String("expert", name), slog.String("error", err.Error())}
	if c.api.log.Enabled(ctx, slog.LevelDebug) {
		attrs = append(attrs, slog.String("detail", detailOf(err)))
	}
	c.api.log.LogAttrs(ctx, slog.LevelWarn, what, attrs...)
}

// detailOf is what a service said about a fault, without secrets.
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
	writeError(c.w, f)
}

// The headers of answers.
const (
	headerDecision  = "X-Pipe-Decision"      // id of the decision, for /v1/outcomes
	headerPolicy    = "X-Pipe-Policy"        // name@digest of the policy
	headerExpert    = "X-Pipe-Expert"        // that answered
	headerAdvice    = "X-Pipe-Advice"        // that it was shown
	headerCost      = "X-Pipe-Expected-Cost" // of the pair that answered, where the policy states it
	headerFallbacks = "X-Pipe-Fallbacks"     // pairs that were tried before it
	headerServed    = "X-Pipe-Served-Model"  // the model that answered, where it is not the configured one
	// The setting without_text, where it chose the pair and no policy did.
	headerWithoutText = "X-Pipe-Without-Text"
)

// outcome is what an answer was.
type outcome struct {
	model     string
	usage     expert.Usage
	estimate  int64 // of the tokens of the answer, where the usage is not known
	err       error // that ended it; nil if it was passed on whole
	refused   bool  // the expert refused the request
	status    int
	firstByte time.Duration // since the request came
	fee       expert.Fee
}

// send passes an answer on, and closes it.
func (c *chat) send(e *expert.Expert, answer *expert.Answer) outcome {
	out := outcome{model: answer.Model, usage: answer.Usage, status: answer.Status, refused: answer.Status != http.StatusOK}
	h := c.w.Header()
	h.Set("X-Content-Type-Options", "nosniff") // what a service sends is no page
	for name, values := range answer.Header {
		h[name] = values
	}
	if out.model != "" && !e.Serves(out.model) {
		h.Set(headerServed, headerValue(out.model))
	}
	if answer.Stream == nil {
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
	return out
}

// stream passes events on, each as soon as it has come.
func (c *chat) stream(s *expert.Stream) (first time.Duration, err error) {
	control := http.NewResponseController(c.w)
	for {
		raw, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return first, nil
		case err != nil && left(c.r.Context()):
			return first, err
		case err != nil:
			c.cut(err)
			return first, err
		}
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

// cut ends a stream that broke with an event that OpenAI's clients raise as an error, so that no client takes half an
// answer for a whole one.
func (c *chat) cut(err error) {
	f, _ := unanswered(err.Error(), err)
	f.msg = "the answer is not complete: " + err.Error()
	_, _ = c.w.Write([]byte("data: " + string(f.body()) + "\n\n")) // the client may be gone
	_ = http.NewResponseController(c.w).Flush()
}

// charge computes the fee of an answer and counts it.
func (c *chat) charge(e *expert.Expert, out *outcome) {
	out.fee = e.Fee(out.model, out.usage, time.Now())
	if out.refused {
		out.fee = expert.Fee{}
		return
	}
	a := c.api
	if out.fee.Other {
		a.metrics.OtherModel(e.Name)
		if a.others.first(e.Name, out.model) {
			a.log.LogAttrs(c.r.Context(), slog.LevelWarn, "an expert answers with another model than the configured one", c.id(),
				slog.String("expert", e.Name), slog.String("configured", e.Model()), slog.String("served", headerValue(out.model)), slog.Bool("price_known", out.fee.Known))
		}
	}
	if out.usage.Reason != "" {
		a.log.LogAttrs(c.r.Context(), slog.LevelWarn, "the usage that an expert states is not believed", c.id(), slog.String("expert", e.Name), slog.String("reason", out.usage.Reason))
	}
	if out.usage.Known {
		c.spend(e, out.model, out.usage, out.fee)
		return
	}
	c.chargeEstimate(e, out.model, out.estimate)
}

// spend charges the caller with a usage that a service states, and counts its fee. Where cached tokens have no price, the caller
// is charged as if none were cached, so that no limit of money is evaded.
func (c *chat) spend(e *expert.Expert, model string, used expert.Usage, fee expert.Fee) {
	c.api.metrics.Fee(e.Name, fee.Money)
	money := fee.Money
	if !fee.Known {
		used.Cached = 0
		money = e.Fee(model, used, time.Now()).Money
	}
	access.CallerOf(c.r.Context()).Charge(used.In+used.Out, money)
}

// chargeFailed charges the caller for a call that failed: with the usage that the service states, or with an estimate if the
// caller left. It says what was charged, "" if nothing was stated.
func (c *chat) chargeFailed(e *expert.Expert, err error) string {
	var fault *expert.Failure
	if errors.As(err, &fault) && fault.Usage.Known {
		used := fault.Usage
		c.spend(e, fault.Model, used, e.Fee(fault.Model, used, time.Now()))
		return fmt.Sprintf("; charged: %d tokens of the prompt, %d of the completion", used.In, used.Out)
	}
	if left(c.r.Context()) {
		c.chargeEstimate(e, "", 0)
	}
	return ""
}

// bytesPerToken is the estimate where a service does not state its usage.
const bytesPerToken = 4

// chargeEstimate charges the caller for a call whose usage is not known, so that no limit is evaded by leaving early.
func (c *chat) chargeEstimate(e *expert.Expert, model string, out int64) {
	used := expert.Usage{Known: true}
	used.In, used.Out = int64(c.request.Len()/bytesPerToken), out
	fee := e.Fee(model, used, time.Now())
	access.CallerOf(c.r.Context()).Charge(used.In+used.Out, fee.Money)
}

// headerValue is a text of a service as the value of a header: short, and printable ASCII.
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

// within returns a context that ends with errDeadline after a time, unless stop is called before.
func within(ctx context.Context, d time.Duration) (_ context.Context, stop func() bool, cancel context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	return inner, time.AfterFunc(d, func() { cancel(errDeadline) }).Stop, cancel
}
