package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pipe/serve/gateway/expert"
)

// says makes a service answer with a status and a text.
func says(code int, text string) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, text)
		return true
	}
}

const tooLong = `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`

// What only one expert refuses, another one answers, and the log says why. What the caller did wrong goes to the caller.
func TestWhoseFault(t *testing.T) {
	const wrong = `{"error":{"message":"temperature must be a number","type":"invalid_request_error","param":"temperature","code":"invalid_type"}}`
	for name, c := range map[string]struct {
		small, large func(int, http.ResponseWriter, *http.Request) bool
		status       int
		by, attempts string
		before       string // pairs that failed before, in the header
		logged       string
	}{
		"one is too small":         {says(400, tooLong), nil, 200, "large", "1:400 3:200", "1", "small: HTTP 400, the conversation is too long for it"},
		"too large for one":        {says(413, "<html>"), nil, 200, "large", "1:413 3:200", "1", "small: HTTP 413, the request is too large for it"},
		"both refuse":              {says(400, tooLong), says(413, "x"), 413, "large", "1:400 3:413", "1", "HTTP 413"},
		"one refuses, one is down": {says(400, tooLong), fault(503), 502, "", "1:400 3:503", "", "HTTP 400"},
		"one is down, one refuses": {fault(503), says(400, tooLong), 502, "", "1:503 3:400", "", "HTTP 503"},
		"the caller is wrong":      {says(400, wrong), nil, 400, "small", "1:400", "", ""},
		"the caller of the second": {says(413, "x"), says(400, wrong), 400, "large", "1:413 3:400", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(s *Settings) { s.Breaker.Failures = 1 })
			w.small.Fault, w.large.Fault = c.small, c.large
			a := w.post(t, question+`}`)
			if a.status != c.status || a.header.Get("X-Pipe-Expert") != c.by || a.header.Get("X-Pipe-Fallbacks") != c.before || !strings.Contains(w.text.String(), c.logged) {
				t.Errorf("%d by %s after %q: %s\n%s", a.status, a.header.Get("X-Pipe-Expert"), a.header.Get("X-Pipe-Fallbacks"), a.body, w.text.String())
			}
			for _, b := range w.api.Breakers() {
				if down := strings.Contains(c.attempts, ":503"); b.State != expert.Closed && !down {
					t.Errorf("breaker %+v", b)
				}
			}
			rec := w.records(t)[0]
			var attempts []string
			for _, at := range rec.Attempts {
				attempts = append(attempts, fmt.Sprintf("%d:%d", at.Action, at.Status))
			}
			if got := strings.Join(attempts, " "); got != c.attempts || (rec.Executed >= 0) != (c.by != "") || (rec.Error == "") != (c.status == 200) {
				t.Errorf("%s, %+v", got, rec)
			}
		})
	}
}

// An expert that was asked for by name has no other one: its refusal goes to the caller.
func TestRefusalsByName(t *testing.T) {
	w := newWorld(t, nil)
	w.small.Fault = says(400, tooLong)
	if a := w.post(t, strings.Replace(question, "pipe", "small", 1)+`}`); a.status != 400 || a.body != tooLong || len(w.large.Requests()) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A service that refuses the field that the gateway added is asked again without it.
func TestRefusedUsage(t *testing.T) {
	for _, code := range []int{400, 422} {
		w := newWorld(t, nil)
		w.small.Fault = func(n int, rw http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(string(w.small.Requests()[n].Body), "stream_options") && says(code, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`)(n, rw, r)
		}
		a := w.post(t, question+`,"stream":true}`)
		if a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" || !strings.HasSuffix(a.body, "data: [DONE]\n\n") || len(w.small.Requests()) != 2 {
			t.Errorf("%d: %d %s after %d requests", code, a.status, a.body, len(w.small.Requests()))
		}
		// The caller's own field is the caller's fault.
		a = w.post(t, question+`,"stream":true,"stream_options":{"include_usage":true}}`)
		if a.status != code || len(w.small.Requests()) != 3 || len(w.large.Requests()) != 0 {
			t.Errorf("%d: %d %s after %d requests", code, a.status, a.body, len(w.small.Requests()))
		}
		if rec := w.records(t)[0]; len(rec.Attempts) != 1 || rec.FeeKnown || rec.Model != "model-s" {
			t.Errorf("%+v", rec)
		}
	}
}
