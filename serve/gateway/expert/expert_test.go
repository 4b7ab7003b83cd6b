package expert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/experts/service"
	"pipe/experts/service/servicetest"
	"pipe/internal/config"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings are those of an expert behind a test server, with short times.
func settings(base string) Settings {
	s := DefaultSettings()
	s.BaseURL, s.Model, s.MaxAnswer = base, "m", 64<<10
	s.Timeouts = Timeouts{FirstByte: 300 * time.Millisecond, Answer: 300 * time.Millisecond, Idle: 300 * time.Millisecond, Whole: 5 * time.Second}
	return s
}

// patient are settings for a case that takes long with the race detector on a busy machine.
func patient(base string) Settings {
	s := settings(base)
	s.Timeouts.FirstByte, s.Timeouts.Answer, s.Timeouts.Idle = 4*time.Second, 4*time.Second, 4*time.Second
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
func request(t *testing.T, fields string) *protocol.Incoming {
	t.Helper()
	r, err := protocol.Chat.ReadRequest([]byte(`{"model":"pipe","messages":[{"role":"user","content":"x"}]` + fields + `}`))
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
	if a.Header.Get(requestIDHeader) != "service-0" || a.Header.Get("Content-Type") != "application/json" || len(a.Header) != 2 {
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
	const events, role = "text/event-stream", `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
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
		"424":                {servicetest.Status(424), false, "status_424"},
		"498":                {servicetest.Status(498), true, "status_498"},
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
		"choices twice":      {kind("application/json", `{"choices":[{"message":{"content":"a"}}],"choices":[{"message":{"content":"b"}}]}`), false, "invalid"},
		"content twice":      {kind("application/json", `{"choices":[{"message":{"content":"a","cont\u0065nt":"b"}}]}`), false, "invalid"},
		"an event twice":     {kind(events, `data: {"choices":[{"delta":{"content":"a"}}],"choices":[]}`+"\n\n"), true, "invalid"},
		"another object":     {kind("application/json", `{"detail":"x"}`), false, "invalid"},
		"no stream":          {kind("application/json", gatewaytest.Completion("m", "x")), true, "invalid"},
		"no chunk":           {kind(events, "data: hello\n\n"), true, "invalid"},
		"error with 200":     {kind("application/json", `{"error":{"message":"secret words"}}`), false, "error"},
		"error as event":     {kind(events, "data: {\"error\":{\"message\":\"secret words\"}}\n\n"), true, "error"},
		"a role, an error":   {kind(events, role+"data: {\"error\":{\"message\":\"secret words\"}}\n\n"), true, "error"},
		"none, an error":     {kind(events, "data: {\"choices\":[]}\n\nevent: error\ndata: {\"message\":\"secret words\"}\n\n"), true, "error"},
		"a role, the end":    {kind(events, role+gatewaytest.Chunk("m", "", `"stop"`)+"data: [DONE]\n\n"), true, "empty"},
		"a role, cut":        {kind(events, role), true, "empty"},
		"no choices":         {kind("application/json", `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`), false, "empty"},
		"no content":         {kind("application/json", gatewaytest.Completion("m", "")), false, "empty"},
		"no tool calls":      {kind("application/json", `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[ ]},"finish_reason":"stop"}]}`), false, "empty"},
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
			s := settings(f.Base())
			if name == "a long event" {
				s = patient(f.Base())
			}
			e := open(t, s, DefaultBreaker())
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
		if err != nil || a.Status != code || string(a.Body) != `{"error":{"message":"no: Bearer [key]"}}` || a.Header.Get(requestIDHeader) != "a[key]" {
			t.Errorf("%d: %+v, %v", code, a, err)
		}
		if e.State() != Closed {
			t.Errorf("%d opened the breaker", code)
		}
	}
}

// A refusal that is a page is passed back as a plain text.
func TestRefusalsAreNoPages(t *testing.T) {
	for body, want := range map[string]string{`<script>alert(1)</script>`: "text/plain; charset=utf-8", `"<script>"`: "application/json"} {
		f := gatewaytest.New(t)
		f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(400)
			io.WriteString(w, body)
			return true
		}
		a, err := open(t, settings(f.Base()), DefaultBreaker()).Call(t.Context(), request(t, ""), nil, nil)
		if err != nil || a.Status != 400 || string(a.Body) != body || a.Header.Get("Content-Type") != want {
			t.Errorf("%s: %+v, %v", body, a, err)
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
