package expert

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"pipe/serve/gateway/gatewaytest"
)

// What is no text is an answer, too.
func TestContent(t *testing.T) {
	for name, message := range map[string]string{
		"a tool call": `{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}`,
		"a refusal":   `{"content":null,"refusal":"no"}`,
		"reasoning":   `{"content":"","reasoning_content":"hm"}`,
		"pictures":    `{"content":"","images":[{"type":"image_url","image_url":{"url":"data:x"}}]}`,
	} {
		for _, stream := range []bool{false, true} {
			f := gatewaytest.New(t)
			f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				if !stream {
					io.WriteString(w, `{"choices":[{"message":`+message+`}]}`)
					return true
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, `data: {"choices":[{"delta":`+message+"}]}\n\n")
				return true
			}
			fields := ""
			if stream {
				fields = `,"stream":true`
			}
			a, err := open(t, settings(f.Base()), DefaultBreaker()).Call(t.Context(), request(t, fields), nil, nil)
			if err != nil {
				t.Errorf("%s, stream %v: %v", name, stream, err)
				continue
			}
			if stream {
				a.Stream.Close()
			}
		}
	}
}

// What services send besides an answer is none: another expert can answer, also after an error in a stream. White space in
// front of an answer reaches the caller.
func TestNoContent(t *testing.T) {
	for _, message := range []string{
		`{"content":" \n"}`, `{"content":"","tool_calls":null,"prefix":false}`, `{"content":"","obfuscation":"abc"}`, `{"content":null,"tool_calls":[{}]}`,
	} {
		f := gatewaytest.New(t)
		blank := `data: {"choices":[{"delta":` + message + "}]}\n\n"
		end := "data: {\"error\":{}}\n\n"
		f.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Accept") == "application/json" {
				io.WriteString(w, `{"choices":[{"message":`+message+`,"finish_reason":"stop"}]}`)
				return true
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, blank+end)
			return true
		}
		e := open(t, settings(f.Base()), DefaultBreaker())
		for fields, want := range map[string]string{"": "empty", `,"stream":true`: "error"} {
			var fault *Failure
			if a, err := e.Call(t.Context(), request(t, fields), nil, nil); !errors.As(err, &fault) || fault.Reason != want {
				t.Errorf("%s%s: %+v, %v", message, fields, a, err)
			}
		}
		end = gatewaytest.Chunk("m", "a", `"stop"`)
		a, err := e.Call(t.Context(), request(t, `,"stream":true`), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := readStream(a.Stream); raw != blank+end || !errors.Is(err, io.EOF) {
			t.Errorf("got %q, %v", raw, err)
		}
		a.Stream.Close()
	}
}

// A service that thinks for longer than the time to the first content is not cut while it shows signs of life, and all
// that it sent is passed on as it came.
func TestSignsOfLife(t *testing.T) {
	const role = `data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n"
	for name, sign := range map[string]string{
		"comments": ": wait\n\n", "pings": "event: ping\ndata: {}\n\n", "pings without a name": "data: {\"type\": \"ping\"}\n\n", "chunks": role,
		"no choices": "data: {\"choices\":[]}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := gatewaytest.Chunk("m", "a", `"stop"`)
			f := gatewaytest.New(t)
			f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 6 {
					io.WriteString(w, sign)
					w.(http.Flusher).Flush()
					time.Sleep(100 * time.Millisecond)
				}
				io.WriteString(w, end)
				return true
			}
			s := settings(f.Base())
			s.Timeouts.FirstByte, s.Timeouts.Whole = 400*time.Millisecond, 10*time.Second
			a, err := open(t, s, DefaultBreaker()).Call(t.Context(), request(t, `,"stream":true`), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Stream.Close()
			raw, err := readStream(a.Stream)
			if want := sign + sign + sign + sign + sign + sign + end; raw != want || !errors.Is(err, io.EOF) {
				t.Errorf("got %q, %v", raw, err)
			}
		})
	}
}
