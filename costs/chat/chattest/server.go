// Package chattest has a chat service for tests, which runs on this machine and fails as
// it is told. It imports nothing of this module.
package chattest

import (
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

// Server is a service that speaks OpenAI's protocol for chat completions.
type Server struct {
	*httptest.Server
	Answer func(user string) string                                 // to the last message
	Fault  func(n int, w http.ResponseWriter, r *http.Request) bool // true: it has dealt with the request, the n-th from 0
	Delay  time.Duration                                            // before an answer

	mu       sync.Mutex
	received int            // requests
	served   map[string]int // whole answers, by the body of the request
	inFlight int
	most     int // requests at a time
}

// NewServer returns a server that says REFUTES of claims that hold "not", and
// SUPPORTS of others. The test closes it.
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

// Requests returns how many requests came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Most returns how many requests came at a time, at most.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Answers returns how many whole answers left, of how many requests that differ.
func (s *Server) Answers() (all, distinct int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.served {
		all += n
	}
	return all, len(s.served)
}

// TakeServed waits until no request is in flight, returns how often each request was
// answered since the last call, by its body, and begins to count anew.
func (s *Server) TakeServed() map[string]int {
	// A request of a client that was killed may still be on its way: quiet for a while
	// is idle.
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

// Settings are those of an endpoint that asks the server and does not wait long, and
// more, which win.
func (s *Server) Settings(more map[string]any) map[string]any {
	out := map[string]any{"base_url": s.Base(), "model": "m", "backoff": 0.001, "timeout": 5}
	maps.Copy(out, more)
	return out
}
