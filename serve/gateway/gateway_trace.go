package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pipe/experts/fields"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/telemetry"
)

// callFunc is a method of an expert that sends a request.
type callFunc = func(context.Context, *chatjson.Request, *chatjson.Addition, http.Header) (*expert.Answer, error)

// spanned puts a call of an expert into a span, which the expert is told as its parent. The span of a stream ends with
// [chat.endStream]. Without telemetry the call is made as it is.
func (c *chat) spanned(call callFunc, e *expert.Expert, advice string) callFunc {
	return func(ctx context.Context, r *chatjson.Request, add *chatjson.Addition, headers http.Header) (*expert.Answer, error) {
		ctx, span := telemetry.StartCall(ctx, telemetry.Target{Provider: fields.OpenAI, URL: e.URL(), Model: e.Model(), Stream: r.Stream, Expert: e.Name, Advice: advice})
		began := time.Now()
		answer, err := call(ctx, r, add, span.Headers(headers))
		switch {
		case span == nil:
		case err != nil:
			span.End(failedCall(e, err))
		case answer.Stream != nil:
			c.streaming, c.firstChunk = span, time.Since(began)
		default:
			span.End(endedCall(e, answer.Status, answer.Model, answer.Usage))
		}
		return answer, err
	}
}

// endStream ends the span of a stream that was passed on.
func (c *chat) endStream(e *expert.Expert, out *outcome) {
	if c.streaming == nil {
		return
	}
	r := endedCall(e, out.status, out.model, out.usage)
	r.FirstChunk = c.firstChunk
	switch {
	case out.err != nil && clientGone(c.r.Context()):
		r.Fault = "canceled"
	case out.err != nil:
		r.Fault = faultOf(out.err)
	}
	c.streaming.End(r)
}

// endedCall describes an answer, or a refused request.
func endedCall(e *expert.Expert, status int, model string, usage expert.Usage) telemetry.Result {
	fee := e.Fee(model, usage, time.Now())
	r := telemetry.Result{
		Model: headerValue(model), Known: model != "" && e.Serves(model), Status: status,
		UsageKnown: usage.Known, In: usage.In, Cached: usage.Cached, Out: usage.Out, Fee: fee.Money, FeeKnown: fee.Known,
	}
	if status != http.StatusOK {
		r.Fault = fmt.Sprint(status)
	}
	return r
}

// failedCall describes a call without an answer.
func failedCall(e *expert.Expert, err error) telemetry.Result {
	var fault *expert.Failure
	if !errors.As(err, &fault) {
		return telemetry.Result{Fault: faultOf(err)}
	}
	r := endedCall(e, fault.Status, fault.Model, fault.Usage)
	r.Fault = fault.Label()
	return r
}

// faultOf is the class of an error in one word.
func faultOf(err error) string {
	var fault *expert.Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &fault):
		return fault.Label()
	case errors.Is(err, errDeadline) || errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "_OTHER"
}
