// Package chattest has a local chat service for tests, with faults on demand.
// It imports no other package of this module.
package chattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a service with OpenAI's API for chat completions.
type Server struct {
	*httptest.Server
	Answer func(user string) string                                 // to the last message
	Fault  func(n int, w http.ResponseWriter, r *http.Request) bool // returns true if it has handled request n, from 0
	Delay  time.Duration                                            // before an answer

	mu       sync.Mutex
	received int            // requests
	served   map[string]int // whole answers, by the body of the request
	inFlight int
	most     int // largest number of concurrent requests
}

// NewServer returns a server that answers REFUTES to claims with the word
// "not", and SUPPORTS to others. The test closes it.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{served: make(map[string]int), Answer: func(user string) string {
		if strings.Contains(user, " not ") {
			return "REFUTES"
		}
		return "It SUPPORTS."
	}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers a request, or fails as Fault says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := s.received
	s.received++
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	fault := s.Fault
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if fault != nil && fault(n, w, r) {
		return
	}
	time.Sleep(s.Delay)
	var asked struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	text := s.Answer(asked.Messages[len(asked.Messages)-1].Content)
	s.mu.Lock()
	s.served[string(body)]++
	s.mu.Unlock()
	WriteAnswer(w, text, 100, 5)
}

// WriteAnswer writes a whole answer, with its counts of tokens.
func WriteAnswer(w io.Writer, text string, prompt, completion int) {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		b, prompt, completion, prompt+completion)
}

// Base is the base_url of the service.
func (s *Server) Base() string { return s.URL + "/v1" }

// Heal ends the faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = nil
}

// Requests returns the number of requests.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Most returns the largest number of concurrent requests.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Answers returns the number of complete answers, and of distinct requests among them.
func (s *Server) Answers() (all, distinct int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.served {
		all += n
	}
	return all, len(s.served)
}

// TakeServed waits until no request is in flight. It returns how often each
// request was answered since the last call, by its body, and resets the counts.
func (s *Server) TakeServed() map[string]int {
	// A request of a killed client may still arrive, so the server must be
	// quiet for a while.
	for quiet := 0; quiet < 50; quiet++ {
		s.mu.Lock()
		if s.inFlight > 0 {
			quiet = 0
		}
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	served := s.served
	s.served = make(map[string]int)
	return served
}

// Settings are those of an endpoint that uses the server with short waits,
// overridden by more.
func (s *Server) Settings(more map[string]any) map[string]any {
	out := map[string]any{"base_url": s.Base(), "model": "m", "backoff": 0.001, "timeout": 5}
	maps.Copy(out, more)
	return out
}
