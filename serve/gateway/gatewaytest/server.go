// Package gatewaytest has a local service with OpenAI's API for chat completions, with streams and with faults on
// demand, for tests of the gateway.
package gatewaytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a service. Its fields may be set before the first request.
type Server struct {
	*httptest.Server
	Model string        // the model that it reports; "": the requested one
	Text  string        // of its answers; words are the chunks of a stream
	Delay time.Duration // before each chunk
	// Fault answers a request instead, if it returns true. n counts from 0.
	Fault func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	requests []Request
	gone     int // requests whose client left before the end
}

// Request is what the service received.
type Request struct {
	Header http.Header
	Body   []byte
}

// New returns a service that answers a few words. The test closes it.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Text: "It is a test."}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Base is the base_url of the service.
func (s *Server) Base() string { return s.URL + "/v1" }

// SetFault sets Fault where other programs send the requests: nothing else orders these with what a test writes.
func (s *Server) SetFault(fault func(n int, w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = fault
}

// Requests returns what came until now.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Gone returns how many clients left before the end of their answer.
func (s *Server) Gone() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// asked is the part of a request that the service reads.
type asked struct {
	Model   string
	Stream  bool
	Options struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []json.RawMessage
}

// ServeHTTP answers a request, or fails as Fault says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, Request{r.Header.Clone(), body})
	fault := s.Fault
	s.mu.Unlock()
	defer func() {
		if r.Context().Err() != nil {
			s.mu.Lock()
			s.gone++
			s.mu.Unlock()
		}
	}()
	if fault != nil && fault(n, w, r) {
		return
	}
	var q asked
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) == 0 || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, `{"error":{"message":"no messages","type":"invalid_request_error","param":"messages","code":null}}`, http.StatusBadRequest)
		return
	}
	if s.Model != "" {
		q.Model = s.Model
	}
	w.Header().Set("X-Request-Id", fmt.Sprintf("service-%d", n))
	if q.Stream {
		s.stream(w, r, q)
		return
	}
	time.Sleep(s.Delay)
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, Completion(q.Model, s.Text))
}

// Usage is the usage that the service states.
const Usage = `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"prompt_tokens_details":{"cached_tokens":400}}`

// Completion is a whole answer.
func Completion(model, text string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":null,"finish_reason":"stop"}],"usage":%s,"unknown":1.50}`,
		model, text, Usage)
}

// Chunk is an event of a stream; finish is "null" or a reason in quotes.
func Chunk(model, text, finish string) string {
	return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q},\"finish_reason\":%s}]}\n\n", model, text, finish)
}

// stream answers word by word.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q asked) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string) {
		if r.Context().Err() == nil {
			time.Sleep(s.Delay)
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	}
	for _, word := range strings.SplitAfter(s.Text, " ") {
		send(Chunk(q.Model, word, "null"))
	}
	send(Chunk(q.Model, "", `"stop"`))
	if q.Options.Usage {
		send(fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[],\"usage\":%s}\n\n", q.Model, Usage))
	}
	send("data: [DONE]\n\n")
}
