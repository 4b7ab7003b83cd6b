// Package telemetry sends traces and metrics of a server by OpenTelemetry, with the semantic conventions for generative AI of
// version 1.41.0. A request is a span; the decision, the fetching of advice and the calls of experts are spans within it. No
// text of a conversation and no secret is in any of them.
//
// Without an endpoint nothing is made: [Open] returns nil, and all methods of nil do nothing.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"pipe/experts/service"
)

// Telemetry sends traces and metrics. It is safe for concurrent use. The methods of nil do nothing.
type Telemetry struct {
	tracer  trace.Tracer
	traces  *sdktrace.TracerProvider
	metrics *sdkmetric.MeterProvider
	client  *http.Client
	// stop ends the exporters, with retries that Shutdown of the providers left running.
	stop []func(context.Context) error

	duration   genaiconv.ClientOperationDuration
	firstChunk genaiconv.ClientOperationTimeToFirstChunk
	tokens     genaiconv.ClientTokenUsage
}

// scope is the name of the instrumentation.
const scope = "pipe/serve"

// Open starts the exports in the background. It returns nil if the settings, which must be valid, have no endpoint. The caller
// closes the telemetry. Queues are bounded: spans that a collector does not take in time are dropped.
func Open(ctx context.Context, s Settings, version string, log *slog.Logger) (*Telemetry, error) {
	if !s.Enabled() {
		return nil, nil
	}
	client, err := service.NewClient(2, string(s.CAFile))
	if err != nil {
		return nil, err
	}
	client.Timeout = exportTime
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(semconv.ServiceName("pipe"), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err == nil && s.Service != "" {
		about, err = resource.Merge(about, resource.NewSchemaless(semconv.ServiceName(s.Service)))
	}
	if err != nil && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, err
	}
	otel.SetErrorHandler(&logger{log: log})
	t := &Telemetry{client: client}
	if err := t.openTraces(ctx, &s, about); err != nil {
		return nil, err
	}
	if err := t.openMetrics(ctx, &s, about); err != nil {
		return nil, errors.Join(err, t.traces.Shutdown(ctx))
	}
	if err := t.makeInstruments(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Limits of exports.
const (
	exportTime = 10 * time.Second // of one export
	retryTime  = 20 * time.Second // of an export that is tried again
	flushTime  = 5 * time.Second  // of the last one, when the server stops
	mostSeries = 2000             // combinations of attributes of a metric
)

// headers are the headers of exports; nil: those of the environment.
func (s *Settings) headers() map[string]string {
	if s.Headers == nil {
		return nil
	}
	all := make(map[string]string, len(s.Headers))
	for name, value := range s.Headers {
		all[name] = string(value)
	}
	return all
}

// openTraces starts the export of spans.
func (t *Telemetry) openTraces(ctx context.Context, s *Settings, about *resource.Resource) error {
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(strings.TrimRight(s.Endpoint, "/") + "/v1/traces"), otlptracehttp.WithHTTPClient(t.client),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: retryTime}),
	}
	if h := s.headers(); h != nil {
		options = append(options, otlptracehttp.WithHeaders(h))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return err
	}
	t.stop = append(t.stop, exporter.Shutdown)
	of := []sdktrace.TracerProviderOption{sdktrace.WithResource(about), sdktrace.WithBatcher(exporter)}
	if s.Sample != nil {
		of = append(of, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(*s.Sample))))
	}
	t.traces = sdktrace.NewTracerProvider(of...)
	t.tracer = t.traces.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	return nil
}

// openMetrics starts the export of metrics.
func (t *Telemetry) openMetrics(ctx context.Context, s *Settings, about *resource.Resource) error {
	options := []otlpmetrichttp.Option{
		otlpmetrichttp.WithEndpointURL(strings.TrimRight(s.Endpoint, "/") + "/v1/metrics"), otlpmetrichttp.WithHTTPClient(t.client),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: retryTime}),
	}
	if h := s.headers(); h != nil {
		options = append(options, otlpmetrichttp.WithHeaders(h))
	}
	exporter, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return err
	}
	t.stop = append(t.stop, exporter.Shutdown)
	t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithCardinalityLimit(mostSeries))
	return nil
}

// Bounds of the buckets, as the conventions advise.
var (
	secondsBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds   = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// makeInstruments makes the metrics of calls.
func (t *Telemetry) makeInstruments() error {
	m := t.metrics.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	var errs [3]error
	t.duration, errs[0] = genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(secondsBounds...))
	t.firstChunk, errs[1] = genaiconv.NewClientOperationTimeToFirstChunk(m, metric.WithExplicitBucketBoundaries(secondsBounds...))
	t.tokens, errs[2] = genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(tokenBounds...))
	return errors.Join(errs[:]...)
}

// Close sends what is left, for a few seconds at most, and ends the exports. A collector that does not answer is no error: the log
// has it.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, stop := range []func(context.Context) error{t.traces.Shutdown, t.metrics.Shutdown} {
		if err := stop(ctx); err != nil {
			otel.Handle(err)
		}
	}
	for _, stop := range t.stop {
		_ = stop(ctx) // most have stopped, which is an error the second time
	}
	t.client.CloseIdleConnections()
	return nil
}

// logger logs problems of exports, at most one a minute.
type logger struct {
	log  *slog.Logger
	last atomic.Int64 // when one was logged, in nanoseconds
}

// Handle is that of otel.ErrorHandler.
func (l *logger) Handle(err error) {
	last, now := l.last.Load(), time.Now().UnixNano()
	if last != 0 && now-last < int64(time.Minute) || !l.last.CompareAndSwap(last, now) {
		return
	}
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "telemetry could not be sent", slog.String("error", err.Error()))
}

// w3c reads and writes the headers traceparent and tracestate.
var w3c = propagation.TraceContext{}

// Span is a running span. The methods of nil do nothing.
type Span struct {
	span trace.Span
	of   *Telemetry
}

type contextKey struct{}

// Request begins the span of a request, which continues the trace of its caller. The returned request has the context of the span,
// and its headers name it. Without telemetry the request is returned as it is, with nil.
func (t *Telemetry) Request(r *http.Request) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := w3c.Extract(context.WithValue(r.Context(), contextKey{}, t), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.URLPath(r.URL.Path), semconv.URLScheme(schemeOf(r))))
	w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
	return r.WithContext(ctx), &Span{span, t}
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// EndRequest ends the span of a request. route is the pattern of its handler, with the method; another text means that there is none.
func (s *Span) EndRequest(route string, status int) {
	if s == nil {
		return
	}
	if _, path, ok := strings.Cut(route, " "); ok {
		s.span.SetName(route)
		s.span.SetAttributes(semconv.HTTPRoute(path))
	}
	s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	fault := ""
	if status >= http.StatusInternalServerError {
		fault = strconv.Itoa(status)
	}
	s.End(fault)
}

// Start begins a span within that of the context. Without telemetry it returns nil.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	t, _ := ctx.Value(contextKey{}).(*Telemetry)
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, &Span{span, t}
}

// Set sets the attribute pipe.NAME. The value is a string, an int, a float64 or a bool.
func (s *Span) Set(name string, value any) {
	if s == nil {
		return
	}
	key := attribute.Key("pipe." + name)
	switch v := value.(type) {
	case string:
		s.span.SetAttributes(key.String(v))
	case int:
		s.span.SetAttributes(key.Int(v))
	case float64:
		s.span.SetAttributes(key.Float64(v))
	case bool:
		s.span.SetAttributes(key.Bool(v))
	}
}

// End ends the span. fault is the class of an error in one word, "" for none. Messages of errors are left out, since they may quote a
// conversation.
func (s *Span) End(fault string) {
	if s == nil {
		return
	}
	if fault != "" {
		s.fail(fault)
	}
	s.span.End()
}
