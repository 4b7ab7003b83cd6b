package gateway

import (
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pipe/experts/service"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/telemetry"
	"pipe/serve/telemetry/telemetrytest"
)

// tracedWorld is a world whose requests have spans. done ends the exports.
func tracedWorld(t *testing.T, change func(*Settings)) (w *world, c *telemetrytest.Collector, done func()) {
	w, c = newWorld(t, change), telemetrytest.New(t)
	all := 1.0
	tele, err := telemetry.Open(t.Context(), telemetry.Settings{Endpoint: c.URL, Sample: &all, Service: "test", Headers: map[string]service.Secret{"x-token": "collector-secret"}}, "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	inner := w.Config.Handler
	w.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r, span := tele.Request(r)
		inner.ServeHTTP(rw, r)
		span.EndRequest("POST /v1/chat/completions", 200)
	})
	return w, c, func() {
		if err := tele.Close(); err != nil {
			t.Error(err)
		}
	}
}

// spanOf returns the spans of a name.
func spansOf(c *telemetrytest.Collector, name string) (all []telemetrytest.Span) {
	for _, s := range c.Spans() {
		if s.Name == name {
			all = append(all, s)
		}
	}
	return all
}

const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestSpansOfARequest: the spans of a request continue the caller's trace, and each call of an expert is one, also a failed one.
// Experts get the id of their own span. Names are those of the conventions, and the metrics agree with the answer's usage.
func TestSpansOfARequest(t *testing.T) {
	w, c, done := tracedWorld(t, nil)
	w.small.Fault = fault(503)
	if a := w.post(t, question+`}`, "Traceparent", caller, "Tracestate", "vendor=1"); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	done()
	request, decide, advise, failed, call := spansOf(c, "POST /v1/chat/completions"), spansOf(c, "decide"), spansOf(c, "advise"), spansOf(c, "chat model-s"), spansOf(c, "chat model-l")
	if n := len(c.Spans()); n != 5 || len(request) != 1 || len(decide) != 1 || len(advise) != 1 || len(failed) != 1 || len(call) != 1 || c.Service() != "test" {
		t.Fatalf("%d spans of %q: %+v", n, c.Service(), c.Spans())
	}
	top := request[0]
	if top.Trace != caller[3:35] || top.Parent != caller[36:52] || top.Kind != "SERVER" || top.State != "vendor=1" {
		t.Errorf("%+v", top)
	}
	for _, s := range [][]telemetrytest.Span{decide, advise, failed, call} {
		if s[0].Trace != top.Trace || s[0].Parent != top.ID || s[0].ID == top.ID {
			t.Errorf("%+v is not within %+v", s[0], top)
		}
	}
	for i, s := range []*gatewaytest.Server{w.small, w.large} {
		h := s.Requests()[0].Header
		if want := "00-" + top.Trace + "-" + [][]telemetrytest.Span{failed, call}[i][0].ID + "-01"; h.Get("Traceparent") != want || h.Get("Tracestate") != "vendor=1" {
			t.Errorf("expert %d got %q %q, want %q", i, h.Get("Traceparent"), h.Get("Tracestate"), want)
		}
	}
	address, port, _ := strings.Cut(strings.TrimPrefix(w.large.URL, "http://"), ":")
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "model-l", "gen_ai.response.model": "model-l", "gen_ai.request.stream": "false",
		"gen_ai.usage.input_tokens": "1000", "gen_ai.usage.output_tokens": "100", "gen_ai.usage.cache_read.input_tokens": "400", "http.response.status_code": "200",
		"server.address": address, "server.port": port, "pipe.expert": "large", "pipe.advice": "search", "pipe.fee": "0.002",
	}
	if got := call[0].Attributes; !maps.Equal(got, want) || call[0].Kind != "CLIENT" || call[0].Failed {
		t.Errorf("%v, want %v", got, want)
	}
	if got := failed[0]; !got.Failed || got.Attributes["error.type"] != "status_503" || got.Attributes["http.response.status_code"] != "503" || got.Attributes["gen_ai.usage.input_tokens"] != "" {
		t.Errorf("%+v", got)
	}
	if got := decide[0].Attributes; got["pipe.pair"] != "small/search" || got["pipe.policy"] != "claims" || got["pipe.decision.id"] == "" || got["pipe.expected_cost"] == "" {
		t.Errorf("%+v", got)
	}
	if got := advise[0].Attributes; !maps.Equal(got, map[string]string{"pipe.advice": "search", "pipe.passages": "1"}) {
		t.Errorf("%+v", got)
	}
	w.checkTokens(t, c, 1000, 100)
	if d := c.Points("gen_ai.client.operation.duration"); len(d) != 2 || d[0].Unit != "s" || d[0].Count != 1 || len(d[0].Bounds) != 14 {
		t.Errorf("%+v", d)
	}
	if d := c.Points("gen_ai.client.operation.time_to_first_chunk"); len(d) != 0 {
		t.Errorf("an answer that is no stream: %+v", d)
	}
}

// checkTokens checks the metric of tokens.
func (w *world) checkTokens(t *testing.T, c *telemetrytest.Collector, in, out float64) {
	t.Helper()
	got := make(map[string]float64)
	for _, p := range c.Points("gen_ai.client.token.usage") {
		got[p.Attributes["gen_ai.token.type"]] += p.Sum
		if p.Unit != "{token}" || p.Attributes["gen_ai.operation.name"] != "chat" || p.Attributes["gen_ai.provider.name"] != "openai" || p.Attributes["gen_ai.request.model"] == "" {
			t.Errorf("%+v", p)
		}
	}
	if got["input"] != in || got["output"] != out || len(got) != 2 {
		t.Errorf("%v tokens, want %v and %v", got, in, out)
	}
}

// TestSpansOfStreams: the span of a stream ends with it, has its usage and the time to its first chunk. A stream that breaks fails.
func TestSpansOfStreams(t *testing.T) {
	w, c, done := tracedWorld(t, nil)
	if a := w.post(t, question+`,"stream":true}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	w.small.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, gatewaytest.Chunk("invented-name", "half", "null"))
		return true
	})
	if a := w.post(t, strings.Replace(question, "pipe", "small", 1)+`,"stream":true}`); !strings.Contains(a.body, "half") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	done()
	calls := spansOf(c, "chat model-s")
	if len(calls) != 2 {
		t.Fatalf("%+v", c.Spans())
	}
	whole, broken := calls[0], calls[1]
	if a := whole.Attributes; whole.Failed || a["gen_ai.usage.output_tokens"] != "100" || a["gen_ai.response.model"] != "model-s" || a["gen_ai.response.time_to_first_chunk"] == "" || a["gen_ai.request.stream"] != "true" {
		t.Errorf("%+v", whole)
	}
	if a := broken.Attributes; !broken.Failed || a["error.type"] == "" || a["gen_ai.response.model"] != "invented-name" || a["pipe.advice"] != "" || a["gen_ai.usage.input_tokens"] != "" {
		t.Errorf("%+v", broken)
	}
	w.checkTokens(t, c, 1000, 100)
	first := c.Points("gen_ai.client.operation.time_to_first_chunk")
	slices.SortFunc(first, func(a, b telemetrytest.Point) int { return len(a.Attributes) - len(b.Attributes) })
	if len(first) != 2 || first[1].Attributes["gen_ai.response.model"] != "model-s" || first[0].Attributes["gen_ai.response.model"] != "" || !(first[1].Sum > 0) || math.IsInf(first[1].Sum, 0) {
		t.Errorf("%+v: a name that a service made up is no label", first)
	}
}

// TestNothingSecretIsSent: neither texts of conversations and answers, nor keys and texts of failures, are in what is sent.
func TestNothingSecretIsSent(t *testing.T) {
	t.Setenv("SMALL_KEY", "sk-expert-0123456789")
	w, c, done := tracedWorld(t, func(s *Settings) {
		e := s.Experts["small"]
		e.Key = "SMALL_KEY"
		s.Experts["small"] = e
	})
	w.small.Fault = says(500, `{"error":{"message":"Is oil good? sk-expert-0123456789"}}`)
	for _, body := range []string{question + `}`, question + `,"stream":true}`, strings.Replace(question, "pipe", "small", 1) + `}`, `{"model":"pipe","messages":[{"role":"user","content":7}]}`} {
		w.post(t, body, "Authorization", "Bearer caller-key-0123456789")
	}
	done()
	raw, headers := c.Raw()
	for _, text := range []string{"oil", "Oil", "It is a test", "sk-expert", "caller-key", "collector-secret", "u1"} {
		if strings.Contains(string(raw), text) {
			t.Errorf("%q was sent", text)
		}
	}
	for _, h := range headers {
		if h.Get("X-Token") != "collector-secret" {
			t.Error(h)
		}
	}
	if len(c.Spans()) < 8 {
		t.Errorf("%+v", c.Spans())
	}
}

// TestWithoutTelemetry: without it a request to an expert has the same bytes and headers as with it, but for the caller's own
// trace headers.
func TestWithoutTelemetry(t *testing.T) {
	plain := newWorld(t, nil)
	plain.post(t, question+`}`, "Traceparent", caller, "Tracestate", "vendor=1", "X-Request-Id", "r1")
	traced, _, done := tracedWorld(t, nil)
	traced.post(t, question+`}`, "Traceparent", caller, "Tracestate", "vendor=1", "X-Request-Id", "r1")
	done()
	a, b := plain.small.Requests()[0], traced.small.Requests()[0]
	if a.Header.Get("Traceparent") != caller || b.Header.Get("Traceparent") == caller {
		t.Errorf("%q, %q", a.Header.Get("Traceparent"), b.Header.Get("Traceparent"))
	}
	b.Header.Set("Traceparent", caller)
	if string(a.Body) != string(b.Body) || !maps.EqualFunc(a.Header, b.Header, slices.Equal) {
		t.Errorf("%v %s\n%v %s", a.Header, a.Body, b.Header, b.Body)
	}
}
