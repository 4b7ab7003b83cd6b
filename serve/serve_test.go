package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

func TestMain(m *testing.M) {
	orttest.SkipExamples()
	goleak.VerifyTestMain(m)
}

// running is a server that a test started.
type running struct {
	*Server
	url   string
	log   *buffer
	stop  context.CancelFunc
	ended chan error
}

// buffer is a log that is read while it is written.
type buffer struct {
	lock sync.Mutex
	b    bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.b.String()
}

// start runs a server on free ports. The test's routes, if any, are added to it.
func start(t *testing.T, change func(*Config), routes func(*http.ServeMux)) *running {
	t.Helper()
	c := DefaultConfig()
	c.Listen, c.GRPC, c.Policies.Paths = "127.0.0.1:0", "127.0.0.1:0", []string{aPolicy(t)}
	if change != nil {
		change(&c)
	}
	r := &running{log: &buffer{}, ended: make(chan error, 1)}
	s, err := New(t.Context(), c, Options{Log: r.log, Version: "test", Runtime: orttest.OneThread(t)})
	if err != nil {
		t.Fatal(err)
	}
	if routes != nil {
		routes(s.mux)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.Server, r.url, r.stop = s, s.Addresses().HTTP, cancel
	go func() { r.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.ended:
		case <-time.After(10 * time.Second):
			t.Error("the server did not stop")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// aPolicy writes a policy of four features and returns its file.
func aPolicy(t *testing.T) string {
	t.Helper()
	return decidetest.WritePolicy(t, decidetest.AnyPrice(4))
}

// wait stops the server and returns what Run returned.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the server did not stop")
		return nil
	}
}

// do sends a request with headers, given as name and value.
func (r *running) do(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			q.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func TestHealthAndMetrics(t *testing.T) {
	r := start(t, nil, nil)
	for path, want := range map[string]string{
		"/healthz": `{"live":true}`, "/readyz": `{"ready":true}`, "/metrics": "go_goroutines",
	} {
		if code, _, body := r.do(t, "GET", path, ""); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	_, _, body := r.do(t, "GET", "/metrics", "")
	for _, want := range []string{`pipe_requests_total{code="200",route="GET /healthz"} 1`, `pipe_build_info{version="test"} 1`, "process_resident_memory_bytes"} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics have no %s", want)
		}
	}
}

// TestIDs checks that handlers get an id and a trace of every request, the caller's where they are valid.
func TestIDs(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	r := start(t, func(c *Config) { c.Logs.Requests = "all" }, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get("x-request-id")+" "+r.Header.Get("traceparent"))
		})
	})
	_, head, body := r.do(t, "GET", "/echo", "", "X-Request-Id", "abc-1", "traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	id, parent, _ := strings.Cut(body, " ")
	got, ok := parseTrace(parent)
	if id != "abc-1" || head.Get("X-Request-Id") != "abc-1" || !ok || got.trace != trace || got.flags != "01" || got.span == "b7ad6b7169203331" {
		t.Errorf("%q", body)
	}
	for _, bad := range []string{"", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "00-" + trace + "-b7ad6b7169203331", "ff-" + trace + "-b7ad6b7169203331-01", "00-" + trace + "-b7ad6b7169203331-01-x", "00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01"} {
		_, head, body := r.do(t, "GET", "/echo", "", "X-Request-Id", `a"b`, "traceparent", bad)
		id, parent, _ := strings.Cut(body, " ")
		got, ok := parseTrace(parent)
		if !isHex(id, 32) || head.Get("X-Request-Id") != id || !ok || got.trace == trace || got.flags != "00" {
			t.Errorf("%q: %q", bad, body)
		}
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	var line struct{ Request, Trace, Route, Msg string }
	for _, text := range strings.Split(strings.TrimSpace(r.log.String()), "\n") {
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line.Request == "abc-1" {
			break
		}
	}
	if line.Trace != trace || line.Route != "GET /echo" {
		t.Errorf("%+v", line)
	}
}

// TestPanics checks that a panic of a handler is answered and logged, that half an answer is cut, and that the server goes on.
func TestPanics(t *testing.T) {
	r := start(t, nil, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /early", func(http.ResponseWriter, *http.Request) { panic("planted") })
		mux.HandleFunc("GET /late", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic("planted")
		})
	})
	code, head, body := r.do(t, "GET", "/early", "")
	if code != 500 || strings.Contains(body, "planted") || !strings.Contains(r.log.String(), head.Get("X-Request-Id")) || !strings.Contains(r.log.String(), "planted") {
		t.Errorf("%d %s; log %s", code, body, r.log)
	}
	answer, err := http.Get(r.url + "/late")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("half an answer reads as a whole one: %q", text)
	}
	if code, _, _ := r.do(t, "GET", "/healthz", ""); code != 200 {
		t.Error("the server did not go on")
	}
	if _, _, body := r.do(t, "GET", "/metrics", ""); !strings.Contains(body, "pipe_panics_total 2") || !strings.Contains(body, `pipe_requests_total{code="500",route="GET /early"} 1`) {
		t.Error("the metrics do not have the panics")
	}
}

// TestDrain checks that readiness turns false while requests are still accepted, that a running request is answered, and
// that new connections are refused afterwards.
func TestDrain(t *testing.T) {
	release := make(chan struct{})
	r := start(t, func(c *Config) { c.Stop.Notice = new(300 * time.Millisecond) }, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
			<-release
			_, _ = io.WriteString(w, "whole")
		})
	})
	got := make(chan string, 1)
	go func() {
		_, _, body := r.do(t, "GET", "/slow", "")
		got <- body
	}()
	waitFor(t, func() bool { _, _, body := r.do(t, "GET", "/healthz", ""); return body != "" })
	time.Sleep(50 * time.Millisecond)
	r.stop()
	waitFor(t, func() bool { code, _, _ := r.do(t, "GET", "/readyz", ""); return code == 503 })
	if code, _, _ := r.do(t, "GET", "/healthz", ""); code != 200 {
		t.Error("a draining server is still live")
	}
	time.Sleep(400 * time.Millisecond)
	if c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		_ = c.Close()
		t.Error("a new connection after the notice")
	}
	close(release)
	if body := <-got; body != "whole" {
		t.Errorf("the running request got %q", body)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

// TestStopsAtOnce checks that a server which is told to stop while it starts ends in order.
func TestStopsAtOnce(t *testing.T) {
	for range 20 {
		if err := start(t, nil, nil).wait(t); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCut checks that requests which do not end are cut off, and that Run says so.
func TestCut(t *testing.T) {
	began := make(chan struct{})
	r := start(t, func(c *Config) { c.Stop.Drain = 100 * time.Millisecond }, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /stuck", func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
		})
	})
	go func() {
		if answer, err := http.Get(r.url + "/stuck"); err == nil {
			_ = answer.Body.Close()
		}
	}()
	<-began
	var cut *CutError
	if err := r.wait(t); err == nil || !errors.As(err, &cut) {
		t.Errorf("%v", err)
	}
}

// TestSlowClients checks that connections which send too slowly, or nothing, are closed, and that too much is refused.
func TestSlowClients(t *testing.T) {
	r := start(t, func(c *Config) {
		c.Limits.HeaderTime, c.Limits.BodyTime, c.Limits.IdleTime, c.Limits.Body = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond, 1000
	}, func(mux *http.ServeMux) {
		mux.HandleFunc("POST /read", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, "read: "+err.Error(), http.StatusBadRequest)
				return
			}
			select {
			case <-r.Context().Done():
				t.Error("the limit of a body's time ended a request whose body was read")
			case <-time.After(400 * time.Millisecond):
			}
			_, _ = io.WriteString(w, "read")
		})
	})
	for name, sent := range map[string]string{
		"nothing": "", "half a head": "GET /healthz HTTP/1.1\r\nHost: lo", "half a body": "POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
		"then idle": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, sent)
		began := time.Now()
		_ = c.SetReadDeadline(began.Add(5 * time.Second))
		if _, err := io.ReadAll(c); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%s: closed after %v: %v", name, time.Since(began), err)
		}
		_ = c.Close()
	}
	if code, _, body := r.do(t, "POST", "/read", strings.Repeat("x", 1001)); code != 400 || !strings.Contains(body, "too large") {
		t.Errorf("a long body: %d %s", code, body)
	}
	if code, _, body := r.do(t, "POST", "/read", strings.Repeat("x", 1000)); code != 200 || body != "read" {
		t.Errorf("a slow handler: %d %s", code, body)
	}
}

// TestQueue checks that requests beyond those that may be served and wait are answered at once.
func TestQueue(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 10)
	r := start(t, func(c *Config) { c.Limits.Active, c.Limits.Queue, c.Limits.QueueWait = 1, 1, 5*time.Second }, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /slow", func(http.ResponseWriter, *http.Request) { began <- struct{}{}; <-release })
	})
	codes := make(chan int, 2)
	ask := func() {
		code, _, _ := r.do(t, "GET", "/slow", "")
		codes <- code
	}
	go ask()
	<-began
	go ask()
	waitFor(t, func() bool { return r.gate.Waiting() == 1 })
	code, head, body := r.do(t, "GET", "/slow", "")
	if code != 429 || head.Get("Retry-After") != "5" || !strings.Contains(body, "busy") {
		t.Errorf("%d %v %s", code, head, body)
	}
	if code, _, body := r.do(t, "GET", "/metrics", ""); code != 200 || !strings.Contains(body, `pipe_queue_length{stage="request"} 1`) || !strings.Contains(body, `pipe_refused_total{reason="queue"} 1`) {
		t.Errorf("metrics %d", code)
	}
	close(release)
	if a, b := <-codes, <-codes; a != 200 || b != 200 {
		t.Errorf("%d %d", a, b)
	}
}

// TestOtherSites checks that a page of another site cannot use a browser to reach a server without keys.
func TestOtherSites(t *testing.T) {
	r := start(t, nil, nil)
	if code, _, _ := r.do(t, "GET", "/healthz", "", "Host", "attacker.example"); code != 403 {
		t.Errorf("another host: %d", code)
	}
	if code, _, _ := r.do(t, "POST", "/v1/policies/reload", "", "Sec-Fetch-Site", "cross-site"); code != 403 {
		t.Errorf("another site: %d", code)
	}
	if code, _, _ := r.do(t, "POST", "/v1/policies/reload", "", "Sec-Fetch-Site", "same-origin"); code != 200 {
		t.Errorf("the same site: %d", code)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"without keys":         func(c *Config) { c.Listen = ":8080" },
		"grpc: ":               func(c *Config) { c.GRPC = "8081" },
		"another port":         func(c *Config) { c.GRPC = c.Listen },
		"tls.cert and key":     func(c *Config) { c.TLS.Cert = "x" },
		"limits.active":        func(c *Config) { c.Limits.Active = 0 },
		"logs.level":           func(c *Config) { c.Logs.Level = "loud" },
		"stop.drain":           func(c *Config) { c.Stop.Drain = 0 },
		"access.open: \"all\"": func(c *Config) { c.Access.Open = []string{"all"} },
	} {
		c := DefaultConfig()
		c.Policies.Paths = []string{"x"}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, address := range []string{"127.0.0.1:8080", "[::1]:8080", "localhost:0", "127.3.2.1:1"} {
		c := DefaultConfig()
		c.Listen, c.Policies.Paths = address, []string{"x"}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen within 5 s")
}
