package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pipe/experts/service"
	"pipe/serve/telemetry"
	"pipe/serve/telemetry/telemetrytest"
)

const (
	tracedCaller  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ignoredCaller = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// TestTelemetryOfAServer: a server that stops has sent the spans of its requests. They continue the callers' traces, and a caller's
// decision not to record its trace is kept. Requests that only read have no span.
func TestTelemetryOfAServer(t *testing.T) {
	c := telemetrytest.New(t)
	var trace string
	r := start(t, func(cfg *Config) {
		cfg.Telemetry = telemetry.Settings{Endpoint: c.URL + "/"}
		cfg.Logs.Requests = "all"
	}, func(mux *http.ServeMux) {
		mux.HandleFunc("POST /echo", func(_ http.ResponseWriter, r *http.Request) { trace = r.Header.Get("traceparent") })
		mux.HandleFunc("POST /panics", func(http.ResponseWriter, *http.Request) { panic("secret reason") })
	})
	const rows = `{"features":[[1,2,3,4],[1,2,3,5]]}`
	for _, one := range [][]string{
		{"POST", "/v1/decide", rows, "traceparent", tracedCaller},
		{"POST", "/v1/decide", rows, "traceparent", ignoredCaller},
		{"POST", "/v1/decide", `{"features":"secret text"}`},
		{"GET", "/healthz", ""},
		{"POST", "/panics", ""},
		{"POST", "/nowhere/secret", ""},
		{"POST", "/echo", "", "traceparent", tracedCaller},
	} {
		r.do(t, one[0], one[1], one[2], append(one[3:], "Content-Type", "application/json")...)
	}
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]telemetrytest.Span)
	for _, s := range c.Spans() {
		got[s.Name] = append(got[s.Name], s)
	}
	if len(got) != 5 || len(got["POST /v1/decide"]) != 2 || len(got["decide"]) != 1 || len(got["POST /panics"]) != 1 || len(got["POST /echo"]) != 1 || len(got["POST"]) != 1 {
		t.Fatalf("%+v", c.Spans())
	}
	request, decide := got["POST /v1/decide"][0], got["decide"][0]
	if request.Trace != tracedCaller[3:35] || request.Parent != tracedCaller[36:52] || decide.Parent != request.ID || decide.Attributes["pipe.rows"] != "2" || request.Attributes["http.route"] != "/v1/decide" || request.Attributes["http.response.status_code"] != "200" {
		t.Errorf("%+v, %+v", request, decide)
	}
	if bad := got["POST /panics"][0]; !bad.Failed || bad.Attributes["http.response.status_code"] != "500" || bad.Attributes["error.type"] != "500" {
		t.Errorf("%+v", bad)
	}
	if echo := got["POST /echo"][0]; trace != "00-"+echo.Trace+"-"+echo.ID+"-01" {
		t.Errorf("the handler saw %q of %+v", trace, echo)
	}
	if !strings.Contains(r.log.String(), `"trace":"`+request.Trace+`"`) {
		t.Error("the log has other traces")
	}
	raw, _ := c.Raw()
	if text := string(raw); strings.Contains(text, "secret text") || strings.Contains(text, "secret reason") || c.Service() != "pipe" {
		t.Errorf("%q: %s", c.Service(), text)
	}
}

// TestCollectorsThatFail: whatever a collector does, requests are answered as fast as without it, and the server stops soon. The log
// says so, once.
func TestCollectorsThatFail(t *testing.T) {
	hangs := make(chan struct{})
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"refuses": func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "no", http.StatusBadRequest)
			return true
		},
		"is busy": func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return true
		},
		"hangs":   func(_ http.ResponseWriter, r *http.Request) bool { <-hangs; return true },
		"is gone": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := telemetrytest.New(t)
			c.Fault = fault
			if fault == nil {
				c.Server.Close()
			}
			if name == "hangs" {
				t.Cleanup(func() { close(hangs) }) // before the collector is closed
			}
			r := start(t, func(cfg *Config) { cfg.Telemetry = telemetry.Settings{Endpoint: c.URL} }, nil)
			began := time.Now()
			const n = 3000 // more than the queue has
			for range n {
				if code, _, body := r.do(t, "POST", "/v1/decide", `{"features":[[1,2,3,4]]}`, "Content-Type", "application/json"); code != 200 {
					t.Fatalf("%d %s", code, body)
				}
			}
			if took := time.Since(began); took > n*20*time.Millisecond {
				t.Errorf("%d requests took %v", n, took)
			}
			began = time.Now()
			if err := r.wait(t); err != nil || time.Since(began) > 8*time.Second {
				t.Errorf("stopped after %v: %v", time.Since(began), err)
			}
			if lines := strings.Count(r.log.String(), "telemetry could not be sent"); lines != 1 {
				t.Errorf("%d lines: %s", lines, r.log.String())
			}
		})
	}
}

func TestBadTelemetry(t *testing.T) {
	half, two := 0.5, 2.0
	for want, s := range map[string]telemetry.Settings{
		"telemetry.endpoint: is no address of a collector": {Endpoint: "collector:4318"},
		"telemetry.endpoint: is no address":                {Endpoint: "http://user:secret@host:1"},
		"telemetry.endpoint: not set":                      {Sample: &half},
		"telemetry.sample: must be 0 to 1":                 {Endpoint: "http://h:1", Sample: &two},
		`telemetry.headers: "a b" is no header`:            {Endpoint: "http://h:1", Headers: map[string]service.Secret{"a b": "x"}},
	} {
		c := DefaultConfig()
		c.Telemetry = s
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	c := DefaultConfig()
	c.Policies.Paths = []string{aPolicy(t)}
	c.Telemetry = telemetry.Settings{Endpoint: "http://127.0.0.1:1", CAFile: "absent.pem"}
	if r := Check(t.Context(), c, Options{Version: "test"}); len(r.Problems) == 0 || !strings.Contains(r.Problems[0], "telemetry: ca_file") {
		t.Errorf("%+v", r.Problems)
	}
}

// TestTelemetryIsOff: without an endpoint, and where the environment turns it off, there is none.
func TestTelemetryIsOff(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	if x, err := telemetry.Open(t.Context(), telemetry.Settings{}, "1", nil); x != nil || err != nil {
		t.Error(x, err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if x, err := telemetry.Open(t.Context(), telemetry.Settings{Endpoint: "http://127.0.0.1:1"}, "1", nil); x != nil || err != nil {
		t.Error(x, err)
	}
	r, span := (*telemetry.Telemetry)(nil).Request(&http.Request{Method: "POST"})
	if _, s := telemetry.Start(r.Context(), "x"); span != nil || s != nil {
		t.Error(span, s)
	}
	ctx, call := telemetry.StartCall(r.Context(), telemetry.Target{})
	call.End(telemetry.Result{})
	span.EndRequest("POST /x", 200)
	if h := (http.Header{"A": {"b"}}); ctx != r.Context() || call.Headers(h).Get("A") != "b" {
		t.Error("the headers or the context changed")
	}
}
