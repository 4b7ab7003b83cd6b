package telemetry

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"
)

// fail sets the class of the error of a span.
func (s *Span) fail(fault string) {
	s.span.SetAttributes(semconv.ErrorTypeKey.String(fault))
	s.span.SetStatus(codes.Error, "")
}

// Target is what is called.
type Target struct {
	Provider string // by its protocol, such as openai
	URL      string // of the service
	Model    string // that is asked for
	Stream   bool
	Expert   string
	Advice   string // "": none
}

// Result is how a call ended.
type Result struct {
	Model      string // that answered; "": not known
	Known      bool   // it is one of the configured names, so that metrics can have it
	Status     int    // of HTTP; 0: there was none
	Fault      string // class of the error in one word; "": none
	UsageKnown bool
	In, Cached int64 // tokens of the prompt, and those of them that the service had cached
	Out        int64 // tokens of the answer, with those of reasoning
	FirstChunk time.Duration
	Fee        float64 // money
	FeeKnown   bool
}

// Call is a running call of an expert. The methods of nil do nothing.
type Call struct {
	*Span
	ctx    context.Context
	began  time.Time
	target Target
	common []attribute.KeyValue // of metrics
}

// StartCall begins the span of a call of an expert. Without telemetry it returns nil.
func StartCall(ctx context.Context, target Target) (context.Context, *Call) {
	t, _ := ctx.Value(contextKey{}).(*Telemetry)
	if t == nil {
		return ctx, nil
	}
	c := &Call{began: time.Now(), target: target, common: append(serverOf(target.URL), semconv.GenAIRequestModel(target.Model))}
	own := append([]attribute.KeyValue{
		semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(target.Provider), semconv.GenAIRequestStream(target.Stream),
		attribute.String("pipe.expert", target.Expert), attribute.String("pipe.advice", target.Advice),
	}, c.common...)
	ctx, span := t.tracer.Start(ctx, "chat "+target.Model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(own...))
	c.Span, c.ctx = &Span{span, t}, ctx
	return ctx, c
}

// serverOf are the attributes of the address of a service. Its path and query are left out.
func serverOf(address string) []attribute.KeyValue {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)}
}

// Headers returns headers that name the span of the call as its parent. Without a call they are returned as they are.
func (c *Call) Headers(h http.Header) http.Header {
	if c == nil {
		return h
	}
	h = h.Clone()
	w3c.Inject(c.ctx, propagation.HeaderCarrier(h))
	return h
}

// End ends the span of the call, and counts it.
func (c *Call) End(r Result) {
	if c == nil {
		return
	}
	common, took := c.common, time.Since(c.began)
	if r.Known {
		common = append(common[:len(common):len(common)], semconv.GenAIResponseModel(r.Model))
	}
	c.attributes(&r)
	withFault := common
	if r.Fault != "" {
		withFault = append(common[:len(common):len(common)], semconv.ErrorTypeKey.String(r.Fault))
	}
	provider := genaiconv.ProviderNameAttr(c.target.Provider)
	c.of.duration.Record(c.ctx, took.Seconds(), genaiconv.OperationNameChat, provider, withFault...)
	if c.target.Stream && r.FirstChunk > 0 {
		c.of.firstChunk.Record(c.ctx, r.FirstChunk.Seconds(), genaiconv.OperationNameChat, provider, common...)
	}
	if r.UsageKnown {
		c.of.tokens.Record(c.ctx, r.In, genaiconv.OperationNameChat, provider, genaiconv.TokenTypeInput, common...)
		c.of.tokens.Record(c.ctx, r.Out, genaiconv.OperationNameChat, provider, genaiconv.TokenTypeOutput, common...)
	}
	c.Span.End(r.Fault)
}

// attributes sets the attributes of the result.
func (c *Call) attributes(r *Result) {
	var all []attribute.KeyValue
	if r.Model != "" {
		all = append(all, semconv.GenAIResponseModel(r.Model))
	}
	if r.Status != 0 {
		all = append(all, semconv.HTTPResponseStatusCode(r.Status))
	}
	if r.UsageKnown {
		all = append(all, semconv.GenAIUsageInputTokens(int(r.In)), semconv.GenAIUsageOutputTokens(int(r.Out)), semconv.GenAIUsageCacheReadInputTokens(int(r.Cached)))
	}
	if c.target.Stream && r.FirstChunk > 0 {
		all = append(all, semconv.GenAIResponseTimeToFirstChunk(r.FirstChunk.Seconds()))
	}
	if r.FeeKnown {
		all = append(all, attribute.Float64("pipe.fee", r.Fee))
	}
	c.span.SetAttributes(all...)
}
