package expert

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/serve/gateway/gatewaytest"
)

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
			e := open(t, patient(f.Base()), DefaultBreaker())
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

// An event is passed on as soon as it has come whole, also if a chunk of HTTP after it stays without its end.
func TestEventsBeforeAPartOfAChunk(t *testing.T) {
	chunk := gatewaytest.Chunk("m", "a", "null")
	for name, c := range map[string]struct{ first, rest, want string }{
		"before the first event":       {"", chunk, "no event of the stream arrived within"},
		"after the first event":        {chunk, chunk, "the stream stopped for"},
		"after two events":             {chunk + chunk, chunk, "the stream stopped for"},
		"after one that ends in CR LF": {strings.ReplaceAll(chunk, "\n", "\r\n"), chunk, "the stream stopped for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.New(t)
			f.Fault = servicePart(c.first, c.rest)
			s := settings(f.Base())
			s.Timeouts.FirstByte, s.Timeouts.Idle = 500*time.Millisecond, 500*time.Millisecond
			e := open(t, s, DefaultBreaker())
			began := time.Now()
			a, err := e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
			if c.first == "" {
				if a != nil || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%v, %v", a, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer a.Stream.Close()
			var raw string
			for len(raw) < len(c.first) {
				part, err := a.Stream.Next()
				if err != nil {
					t.Fatalf("%v after %q", err, raw)
				}
				raw += string(part)
			}
			if took := time.Since(began); raw != c.first || took > 400*time.Millisecond {
				t.Errorf("got %q after %v", raw, took)
			}
			if part, err := a.Stream.Next(); part != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("then %q, %v", part, err)
			}
		})
	}
}

// servicePart sends whole chunks of HTTP and then 13 bytes of another, in one write, and stays silent.
func servicePart(first, rest string) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		text := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		if first != "" {
			text += fmt.Sprintf("%x\r\n%s\r\n", len(first), first)
		}
		io.WriteString(conn, text+fmt.Sprintf("%x\r\n%.13s", len(rest), rest))
		io.Copy(io.Discard, conn) // until the client leaves
		return true
	}
}

// A chunk with a repeated key ends a stream, of which what came before stays; texts that repeat a word do not.
func TestRepeatedKeysEndAStream(t *testing.T) {
	fine := gatewaytest.Chunk("m", `"content":"a","content":"b"`, "null") + `data: {"choices":[{"delta":{"content":"\ud83d"}}]}` + "\n\n" + "event: other\ndata: {\"a\":1,\"a\":2}\n\n"
	f := gatewaytest.New(t)
	f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, fine+`data: {"choices":[{"delta":{"content":"x","content":"y"}}]}`+"\n\ndata: [DONE]\n\n")
		return true
	}
	a, err := open(t, settings(f.Base()), DefaultBreaker()).Call(t.Context(), request(t, `,"stream":true`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stream.Close()
	raw, err := readStream(a.Stream)
	var fault *Failure
	if raw != fine || !errors.As(err, &fault) || fault.Reason != "invalid" {
		t.Errorf("%q, %v", raw, err)
	}
}
