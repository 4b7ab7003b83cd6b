package expert

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/costs/service"
	"pipe/costs/service/servicetest"
	"pipe/internal/config"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings are those of an expert behind a test server, with short times.
func settings(base string) Settings {
	s := DefaultSettings()
	s.BaseURL, s.Model, s.MaxAnswer = base, "m", 64<<10
	s.Timeouts = Timeouts{FirstByte: 300 * time.Millisecond, Answer: 300 * time.Millisecond, Idle: 300 * time.Millisecond, Whole: 5 * time.Second}
	return s
}

// open makes an expert that the test closes.
func open(t *testing.T, s Settings, b BreakerSettings) *Expert {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	e, err := New("small", s, b, func(string, State) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// request is one whose stream is as given.
func request(t *testing.T, fields string) *chatjson.Request {
	t.Helper()
	r, err := chatjson.ReadRequest([]byte(`{"model":"pipe","messages":[{"role":"user","content":"x"}]` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readStream reads a stream to its end.
func readStream(s *Stream) (raw string, err error) {
	var b strings.Builder
	for {
		part, err := s.Next()
		if err != nil {
			return b.String(), err
		}
		b.Write(part)
	}
}

func TestWholeAnswer(t *testing.T) {
	f := gatewaytest.New(t)
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	s := settings(f.Base())
	s.Key, s.Headers, s.Fields = servicetest.KeyVariable, map[string]service.Secret{"X-Team": "search"}, map[string]any{"temperature": 0, "seed": 7}
	e := open(t, s, DefaultBreaker())
	a, err := e.Call(t.Context(), request(t, `,"seed":12345678901234567890`), nil, http.Header{"Traceparent": {"00-x"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := gatewaytest.Completion("m", f.Text); string(a.Body) != want || a.Status != 200 || a.Model != "m" || !a.Usage.Known || a.Usage.Cached != 400 {
		t.Errorf("got %d %s, %+v", a.Status, a.Body, a.Usage)
	}
	if a.Header.Get(RequestIDHeader) != "service-0" || a.Header.Get("Content-Type") != "application/json" || len(a.Header) != 2 {
		t.Errorf("headers %v", a.Header)
	}
	r := f.Requests()[0]
	if r.Header.Get("Authorization") != "Bearer "+servicetest.Key || r.Header.Get("X-Team") != "search" || r.Header.Get("Traceparent") != "00-x" || r.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("headers %v", r.Header)
	}
	if want := `{"model":"m","messages":[{"role":"user","content":"x"}],"seed":12345678901234567890,"temperature":0}`; string(r.Body) != want {
		t.Errorf("sent %s", r.Body)
	}
}

func TestStreams(t *testing.T) {
	f := gatewaytest.New(t)
	e := open(t, settings(f.Base()), DefaultBreaker())
	for _, usage := range []bool{false, true} {
		fields := `,"stream":true`
		if usage {
			fields += `,"stream_options":{"include_usage":true}`
		}
		a, err := e.Call(t.Context(), request(t, fields), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := readStream(a.Stream)
		end := a.Stream.End()
		a.Stream.Close()
		if !errors.Is(err, io.EOF) || !end.Finished || !end.Usage.Known || end.Usage.Out != 100 || end.Model != "m" {
			t.Errorf("%+v, %v", end, err)
		}
		if strings.Contains(raw, `"choices":[]`) != usage || !strings.HasSuffix(raw, "data: [DONE]\n\n") || !strings.HasPrefix(raw, gatewaytest.Chunk("m", "It ", "null")) {
			t.Errorf("usage %v: %s", usage, raw)
		}
		if !strings.Contains(string(f.Requests()[0].Body), `"stream_options":{"include_usage":true}`) {
			t.Errorf("sent %s", f.Requests()[0].Body)
		}
	}
}

// The connection of an answer that was read to its end is used again.
func TestConnectionsAreUsedAgain(t *testing.T) {
	f := gatewaytest.New(t)
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(f.Config.Handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	e := open(t, settings(server.URL+"/v1"), DefaultBreaker())
	for i := range 10 {
		fields := ""
		if i%2 == 0 {
			fields = `,"stream":true`
		}
		a, err := e.Call(t.Context(), request(t, fields), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Stream != nil {
			if _, err := readStream(a.Stream); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			a.Stream.Close()
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 10 answers", n)
	}
}

// What ends a stream early, and what only looks like it.
func TestEndsOfStreams(t *testing.T) {
	chunk := gatewaytest.Chunk("m", "a", "null")
	stop := gatewaytest.Chunk("m", "", `"stop"`)
	for name, c := range map[string]struct {
		body, raw, want string
	}{
		"done":                 {chunk + "data: [DONE]\n\n", chunk + "data: [DONE]\n\n", ""},
		"done in CR LF":        {strings.ReplaceAll(chunk, "\n", "\r\n") + "data: [DONE]\r\n\r\n", strings.ReplaceAll(chunk, "\n", "\r\n") + "data: [DONE]\r\n\r\n", ""},
		"comments":             {": wait\n\n: wait\n\n" + chunk + ": more\n\ndata: [DONE]\n\n", ": wait\n\n: wait\n\n" + chunk + ": more\n\ndata: [DONE]\n\n", ""},
		"done, no empty line":  {chunk + "data: [DONE]", chunk + "data: [DONE]\n\n", ""},
		"finished, no done":    {chunk + stop, chunk + stop, ""},
		"not finished":         {chunk, chunk, "the stream ended early"},
		"within an event":      {chunk + chunk[:20], chunk, "the stream ended early"},
		"an error":             {chunk + "data: {\"error\":{\"message\":\"no\"}}\n\n", chunk + "data: {\"error\":{\"message\":\"no\"}}\n\n", ""},
		"an event of its kind": {chunk + "event: x\ndata: hello\n\n" + stop, chunk + "event: x\ndata: hello\n\n" + stop, ""},
		"a long event":         {chunk + "data: " + strings.Repeat("x", 70<<10), chunk, "an event is longer than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := gatewaytest.New(t)
			f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.body)
				return true
			}
			e := open(t, settings(f.Base()), DefaultBreaker())
			a, err := e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := readStream(a.Stream)
			a.Stream.Close()
			if raw != c.raw || (c.want == "") != errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v", raw, err)
			}
			if again, errAgain := a.Stream.Next(); again != nil || errAgain != err {
				t.Errorf("after the end: %q, %v", again, errAgain)
			}
		})
	}
}

// Every fault of a service before its first byte is a failure with a reason, and the message holds nothing that the
// service said.
func TestFailures(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	headersThenHang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": wait\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	zipped := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 100 {
				io.WriteString(z, text)
			}
			z.Close()
		}
	}
	kind := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, text)
		}
	}
	const events = "text/event-stream"
	for name, c := range map[string]struct {
		fault  http.HandlerFunc
		stream bool
		label  string
	}{
		"429":                {servicetest.Status(429, "Retry-After", "7"), false, "status_429"},
		"500":                {servicetest.Status(500), true, "status_500"},
		"503":                {servicetest.Status(503), false, "status_503"},
		"408":                {servicetest.Status(408), true, "status_408"},
		"the key is wrong":   {servicetest.Status(401), false, "status_401"},
		"the model is gone":  {servicetest.Status(404), false, "status_404"},
		"redirect":           {servicetest.Status(302, "Location", "http://127.0.0.1:1/"), false, "redirect"},
		"redirect, method":   {servicetest.Status(307, "Location", "http://127.0.0.1:1/"), true, "redirect"},
		"closed":             {servicetest.Cut(""), false, "cut"},
		"no HTTP":            {servicetest.Cut("hello\r\n\r\n"), true, "cut"},
		"cut within":         {servicetest.Cut("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"), false, "cut"},
		"cut stream":         {servicetest.Cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\ndata: {"), true, "cut"},
		"hangs":              {hang, false, "timeout"},
		"stream hangs":       {hang, true, "timeout"},
		"comments, no event": {headersThenHang, true, "timeout"},
		"drips":              {drip, false, "timeout"},
		"empty":              {kind("application/json", ""), false, "empty"},
		"empty stream":       {kind(events, ""), true, "empty"},
		"comments alone":     {kind(events, ": a\n\n"), true, "empty"},
		"done at once":       {kind(events, "data: [DONE]\n\n"), true, "empty"},
		"a web page":         {kind("text/html", "<html>sign in</html>"), false, "invalid"},
		"no JSON":            {kind("application/json", `{"choices":[{`), false, "invalid"},
		"another object":     {kind("application/json", `{"detail":"x"}`), false, "invalid"},
		"no stream":          {kind("application/json", gatewaytest.Completion("m", "x")), true, "invalid"},
		"no chunk":           {kind(events, "data: hello\n\n"), true, "invalid"},
		"error with 200":     {kind("application/json", `{"error":{"message":"secret words"}}`), false, "error"},
		"error as event":     {kind(events, "data: {\"error\":{\"message\":\"secret words\"}}\n\n"), true, "error"},
		"too long":           {kind("application/json", strings.Repeat(" ", 70<<10)), false, "too_large"},
		"a long event":       {kind(events, "data: "+strings.Repeat("x", 70<<10)), true, "too_large"},
		"a zip bomb":         {zipped(strings.Repeat(" ", 1000)), false, "too_large"},
		"another coding":     {servicetest.Status(200, "Content-Encoding", "br"), false, "encoding"},
		"no gzip":            {servicetest.Status(200, "Content-Encoding", "gzip"), false, "cut"},
		"huge headers":       {servicetest.Status(200, "X-Large", strings.Repeat("x", 2<<20)), false, "cut"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.New(t)
			f.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { c.fault(w, r); return true }
			e := open(t, settings(f.Base()), DefaultBreaker())
			fields := ""
			if c.stream {
				fields = `,"stream":true`
			}
			a, err := e.Call(t.Context(), request(t, fields), nil, nil)
			var fault *Failure
			if !errors.As(err, &fault) || a != nil || fault.Label() != c.label || strings.Contains(err.Error(), "secret words") || fault.Expert != "small" {
				t.Errorf("got %v, %v, want %s", a, err, c.label)
			}
			if name == "429" && fault.After != "7" {
				t.Errorf("retry after %q", fault.After)
			}
			if len(f.Requests()) > 1 {
				t.Errorf("%d requests", len(f.Requests()))
			}
		})
	}
}

// drip sends a byte at a time for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNoConnection(t *testing.T) {
	f := gatewaytest.New(t)
	f.Close()
	_, err := open(t, settings(f.Base()), DefaultBreaker()).Call(t.Context(), request(t, ""), nil, nil)
	var fault *Failure
	if !errors.As(err, &fault) || fault.Label() != "connect" || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v", err)
	}
}

// A gzip answer that was not asked for is read, also as a stream.
func TestCompressedAnswers(t *testing.T) {
	f := gatewaytest.New(t)
	f.Fault = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		text := gatewaytest.Completion("m", "x")
		if n == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			text = gatewaytest.Chunk("m", "x", `"stop"`)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		w.Write(b.Bytes())
		return true
	}
	e := open(t, settings(f.Base()), DefaultBreaker())
	if a, err := e.Call(t.Context(), request(t, ""), nil, nil); err != nil || string(a.Body) != gatewaytest.Completion("m", "x") {
		t.Errorf("%v, %v", a, err)
	}
	a, err := e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stream.Close()
	if raw, err := readStream(a.Stream); raw != gatewaytest.Chunk("m", "x", `"stop"`) || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", raw, err)
	}
}

// What the caller did wrong is passed back, without the key.
func TestRefusals(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	for _, code := range []int{400, 413, 415, 422, 451} {
		f := gatewaytest.New(t)
		f.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			servicetest.Status(code, "X-Ratelimit-Remaining-Requests", "3", "X-Request-Id", "a"+servicetest.Key)(w, r)
			return true
		}
		s := settings(f.Base())
		s.Key = servicetest.KeyVariable
		e := open(t, s, BreakerSettings{Failures: 1, Open: time.Minute, Probes: 1})
		a, err := e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
		if err != nil || a.Status != code || string(a.Body) != `{"error":{"message":"no: Bearer [key]"}}` || a.Header.Get(RequestIDHeader) != "a[key]" {
			t.Errorf("%d: %+v, %v", code, a, err)
		}
		if e.State() != Closed {
			t.Errorf("%d opened the breaker", code)
		}
	}
}

// A service that returns its key in an answer, in a stream, or in an error: it does not come out.
func TestKeysDoNotComeBack(t *testing.T) {
	f := gatewaytest.New(t)
	f.Text = "the key is " + servicetest.Key + " !"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(servicetest.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settings(f.Base())
	s.KeyFile, s.Headers = config.Path(file), map[string]service.Secret{"Api-Key": "another-secret"}
	e := open(t, s, BreakerSettings{Failures: 1000, Open: time.Minute, Probes: 1})
	a, err := e.Call(t.Context(), request(t, ""), nil, nil)
	if err != nil || !strings.Contains(string(a.Body), "the key is [key] !") {
		t.Errorf("%s, %v", a.Body, err)
	}
	a, err = e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := readStream(a.Stream)
	a.Stream.Close()
	if strings.Contains(raw, servicetest.Key) || !strings.Contains(raw, "[key]") {
		t.Error(raw)
	}
	for name, spelling := range servicetest.Spellings {
		f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(500)
			fmt.Fprintf(w, "wrong key %s and another-secret", spelling(servicetest.Key))
			return true
		}
		_, err := e.Call(t.Context(), request(t, ""), nil, nil)
		var fault *Failure
		if !errors.As(err, &fault) {
			t.Fatal(err)
		}
		said := fmt.Sprintf("%v %s %+v %v %#v %+v", err, fault.Detail, fault, e, e, s.Headers)
		if strings.Contains(said, spelling(servicetest.Key)) || strings.Contains(said, "another-secret") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func TestBreaker(t *testing.T) {
	f := gatewaytest.New(t)
	broken := true
	f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if broken {
			w.WriteHeader(503)
		}
		return broken
	}
	var states []State
	s := settings(f.Base())
	e, err := New("small", s, BreakerSettings{Failures: 3, Open: 100 * time.Millisecond, Probes: 1}, func(_ string, to State) { states = append(states, to) })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	call := func() string {
		_, err := e.Call(t.Context(), request(t, ""), nil, nil)
		var fault *Failure
		errors.As(err, &fault)
		if fault == nil {
			return fmt.Sprint(err)
		}
		return fault.Label()
	}
	for i, want := range []string{"status_503", "status_503", "status_503", "open", "open"} {
		if got := call(); got != want {
			t.Fatalf("call %d: %s, want %s", i, got, want)
		}
	}
	time.Sleep(120 * time.Millisecond)
	if got := call(); got != "status_503" || e.State() != Open {
		t.Fatalf("the probe: %s, %v", got, e.State())
	}
	broken = false
	time.Sleep(120 * time.Millisecond)
	if got := call(); got != "<nil>" || e.State() != Closed {
		t.Fatalf("the probe: %s, %v", got, e.State())
	}
	if got := fmt.Sprint(states); got != "[open half open open half open closed]" {
		t.Errorf("states %s", got)
	}
	if len(f.Requests()) != 5 {
		t.Errorf("%d requests", len(f.Requests()))
	}
}

// A caller who leaves ends the call, and that says nothing about the expert.
func TestCallersWhoLeave(t *testing.T) {
	f := gatewaytest.New(t)
	f.Delay = 50 * time.Millisecond
	f.Text = strings.Repeat("word ", 100)
	e := open(t, settings(f.Base()), BreakerSettings{Failures: 1, Open: time.Minute, Probes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	a, err := e.Call(ctx, request(t, `,"stream":true`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = readStream(a.Stream)
	a.Stream.Close()
	if !errors.Is(err, context.Canceled) || e.State() != Closed {
		t.Errorf("got %v, %v", err, e.State())
	}
	for begin := time.Now(); f.Gone() == 0 && time.Since(begin) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
	}
	if f.Gone() != 1 {
		t.Error("the service was not told")
	}
	if _, err := e.Call(ctx, request(t, ""), nil, nil); !errors.Is(err, context.Canceled) || e.State() != Closed {
		t.Errorf("got %v, %v", err, e.State())
	}
}

func TestConcurrency(t *testing.T) {
	f := gatewaytest.New(t)
	release := make(chan struct{})
	f.Fault = func(int, http.ResponseWriter, *http.Request) bool { <-release; return false }
	s := settings(f.Base())
	s.Concurrency, s.Timeouts.Answer = 1, 5*time.Second
	e := open(t, s, DefaultBreaker())
	done := make(chan error)
	go func() { _, err := e.Call(t.Context(), request(t, ""), nil, nil); done <- err }()
	for begin := time.Now(); len(f.Requests()) == 0 && time.Since(begin) < 2*time.Second; time.Sleep(time.Millisecond) {
	}
	_, err := e.Call(t.Context(), request(t, ""), nil, nil)
	var fault *Failure
	if !errors.As(err, &fault) || fault.Reason != "busy" {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	text := "currency: USD\nmodels:\n  m: [{in: 1, out: 10}, {from: 2026-06-01, in: 2, out: 20, cached: 0.5}]\n  dear: [{in: 100, out: 100}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := gatewaytest.New(t)
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	used := Usage{Tokens: chatjson.Tokens{In: 1_000_000, Out: 100_000}, Known: true}
	cached := Usage{Tokens: chatjson.Tokens{In: 1_000_000, Cached: 400_000}, Known: true}
	in, out := 1.0, 10.0
	byFile, byPrice, none := settings(f.Base()), settings(f.Base()), settings(f.Base())
	byFile.Prices, byPrice.Price = config.Path(file), &Price{In: &in, Out: &out}
	byFile.Served, byPrice.Served = []string{"m-*"}, []string{"m-*"}
	for _, c := range []struct {
		s      Settings
		served string
		usage  Usage
		at     time.Time
		want   Fee
	}{
		{byFile, "m", used, early, Fee{Money: 2, Known: true}},
		{byFile, "m", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "m-2026", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "", used, late, Fee{Money: 4, Known: true, Since: "2026-06-01"}},
		{byFile, "dear", used, late, Fee{Money: 110, Known: true, Other: true}},
		{byFile, "unknown", used, late, Fee{Other: true}},
		{byFile, "m", cached, late, Fee{Money: 1.4, Known: true, Since: "2026-06-01"}},
		{byFile, "m", cached, early, Fee{}}, // cached tokens have no price then
		{byFile, "m", Usage{}, late, Fee{}},
		{byPrice, "m-1", used, late, Fee{Money: 2, Known: true}},
		{byPrice, "m", cached, late, Fee{Money: 1, Known: true}},
		{byPrice, "dear", used, late, Fee{Other: true}},
		{none, "m", used, late, Fee{}},
	} {
		if got := open(t, c.s, DefaultBreaker()).Fee(c.served, c.usage, c.at); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.served, got, c.want)
		}
	}
}
