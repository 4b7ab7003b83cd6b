// Package telemetrytest has a collector of OTLP over HTTP, for tests.
package telemetrytest

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps what is sent to it.
type Collector struct {
	*httptest.Server
	Fault func(w http.ResponseWriter, r *http.Request) bool // answers instead, if it returns true; set before the first request

	mu      sync.Mutex
	spans   []Span
	points  map[string]Point // by metric and attributes, the last one of each
	service string
	headers []http.Header
	raw     []byte // all bodies
}

// Span is a span as it was sent.
type Span struct {
	Name, Trace, ID, Parent string
	Kind                    string // SERVER, CLIENT or INTERNAL
	Attributes              map[string]string
	Failed                  bool
	Seconds                 float64
	State                   string // the header tracestate
}

// Point is the last state of a histogram.
type Point struct {
	Metric, Unit string
	Attributes   map[string]string
	Count        uint64
	Sum          float64
	Bounds       []float64
}

// New returns a collector. The test closes it.
func New(t testing.TB) *Collector {
	c := &Collector{points: make(map[string]Point)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP takes an export.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Fault != nil && c.Fault(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	var answer proto.Message
	if err == nil {
		c.mu.Lock()
		c.headers, c.raw = append(c.headers, r.Header.Clone()), append(c.raw, body...)
		switch r.URL.Path {
		case "/v1/traces":
			answer, err = c.traces(body)
		case "/v1/metrics":
			answer, err = c.metrics(body)
		default:
			err = fmt.Errorf("no such path: %s", r.URL.Path)
		}
		c.mu.Unlock()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, _ := proto.Marshal(answer) // an empty message
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(text) // the client may be gone
}

func (c *Collector) traces(body []byte) (proto.Message, error) {
	var in tracespb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, of := range in.ResourceSpans {
		c.service = values(of.Resource.Attributes)["service.name"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, Span{
					Name: s.Name, Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
					Kind: s.Kind.String()[len("SPAN_KIND_"):], Attributes: values(s.Attributes), Failed: s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR,
					Seconds: float64(s.EndTimeUnixNano-s.StartTimeUnixNano) / 1e9, State: s.TraceState,
				})
			}
		}
	}
	return &tracespb.ExportTraceServiceResponse{}, nil
}

func (c *Collector) metrics(body []byte) (proto.Message, error) {
	var in metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, of := range in.ResourceMetrics {
		for _, scope := range of.ScopeMetrics {
			for _, m := range scope.Metrics {
				h, ok := m.Data.(*metrics.Metric_Histogram)
				if !ok {
					return nil, fmt.Errorf("%s is no histogram", m.Name)
				}
				for _, p := range h.Histogram.DataPoints {
					point := Point{m.Name, m.Unit, values(p.Attributes), p.Count, p.GetSum(), p.ExplicitBounds}
					c.points[fmt.Sprint(m.Name, point.Attributes)] = point
				}
			}
		}
	}
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

// values are attributes as texts.
func values(list []*common.KeyValue) map[string]string {
	out := make(map[string]string, len(list))
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			out[kv.Key] = fmt.Sprint(v.DoubleValue)
		case *common.AnyValue_BoolValue:
			out[kv.Key] = fmt.Sprint(v.BoolValue)
		default:
			out[kv.Key] = kv.Value.String()
		}
	}
	return out
}

// Spans returns the spans that came, in the order of their ends.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Points returns the points of a metric.
func (c *Collector) Points(metric string) (all []Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.points {
		if p.Metric == metric {
			all = append(all, p)
		}
	}
	return all
}

// Service is the name of the service that sent the last spans.
func (c *Collector) Service() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.service
}

// Raw returns all bytes that came, and the headers of every export.
func (c *Collector) Raw() ([]byte, []http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.raw...), append([]http.Header(nil), c.headers...)
}
