package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/telemetry"
)

// callFunc is a method of an expert that sends a request.
type callFunc = func(context.Context, *protocol.Incoming, *chatjson.Addition, http.Header) (*expert.Answer, error)

// streamSpan is the span of a stream, which ends when the stream was passed on. nil: there is none.
type streamSpan struct {
	*telemetry.Call
	firstChunk time.Duration
}

// spannedFunc is a callFunc that returns the span of a stream, too.
type spannedFunc = func(context.Context, *protocol.Incoming, *chatjson.Addition, http.Header) (*expert.Answer, *streamSpan, error)

// spanned puts a call of an expert into a span, which the expert is told as its parent. The span of a stream ends with
// [streamSpan.end]. Without telemetry the call is made as it is.
func (c *chat) spanned(call callFunc, e *expert.Expert, advice string) spannedFunc {
	return func(ctx context.Context, r *protocol.Incoming, add *chatjson.Addition, headers http.Header) (*expert.Answer, *streamSpan, error) {
		ctx, span := telemetry.StartCall(ctx, telemetry.Target{Provider: providerOf(e.Kind()), URL: e.URL(), Model: e.Model(), Stream: r.Stream, Expert: e.Name, Advice: advice})
		began := time.Now()
		answer, err := call(ctx, r, add, span.Headers(headers))
		switch {
		case span == nil:
		case err != nil:
			span.End(failedCall(e, err))
		case answer.Stream != nil:
			return answer, &streamSpan{span, time.Since(began)}, nil
		default:
			span.End(endedCall(e, answer.Status, answer.Model, answer.Usage))
		}
		return answer, nil, err
	}
}

// providers are the names of providers in the semantic conventions, by kinds of experts that have another name.
var providers = map[string]string{
	protocol.OpenAIResponses.Name: "openai", protocol.Gemini.Name: "gcp.gemini", protocol.Azure.Name: "azure.ai.openai", protocol.Bedrock.Name: "aws.bedrock",
}

func providerOf(k *protocol.Kind) string { return cmp.Or(providers[k.Name], k.Name) }

// end ends the span of a stream that was passed on, or given up.
func (s *streamSpan) end(ctx context.Context, e *expert.Expert, out *outcome) {
	if s == nil {
		return
	}
	r := endedCall(e, out.status, out.model, out.usage)
	r.FirstChunk = s.firstChunk
	switch {
	case out.err != nil && (clientGone(ctx) || errors.Is(out.err, errHedged)):
		r.Fault = "canceled"
	case out.err != nil:
		r.Fault = faultOf(out.err)
	}
	s.End(r)
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
	case errors.Is(err, context.Canceled) || errors.Is(err, errHedged):
		return "canceled"
	}
	return "_OTHER"
}
