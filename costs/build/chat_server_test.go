package build

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

// chatServer speaks OpenAI's protocol on this machine, and goes wrong as told.
type chatServer struct {
	*httptest.Server
	answer func(user string) string // to the last message
	fault  func(n int, w http.ResponseWriter, r *http.Request) bool
	delay  time.Duration

	mu       sync.Mutex
	received int            // requests
	served   map[string]int // whole answers, by request
	inFlight int
	most     int // requests at a time
}

// newChatServer returns a server that says REFUTES of claims that hold "not", and
// SUPPORTS of others.
func newChatServer(t testing.TB) *chatServer {
	t.Helper()
	s := &chatServer{served: make(map[string]int), answer: func(user string) string {
		if strings.Contains(user, " not ") {
			return "REFUTES"
		}
		return "It SUPPORTS."
	}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := s.received
	s.received++
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	fault := s.fault
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
	time.Sleep(s.delay)
	var asked struct{ Messages conversation }
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	text := s.answer(asked.Messages[len(asked.Messages)-1].Content)
	s.mu.Lock()
	s.served[requestKey(s.base()+"/chat/completions", body)]++
	s.mu.Unlock()
	answerChat(w, text, 100, 5)
}

// answerChat writes a whole answer.
func answerChat(w io.Writer, text string, prompt, completion int) {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		b, prompt, completion, prompt+completion)
}

func (s *chatServer) base() string { return s.URL + "/v1" }

// heal ends the faults.
func (s *chatServer) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
}

// requests returns how many requests came.
func (s *chatServer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// answers returns how many answers left, of how many requests that differ.
func (s *chatServer) answers() (all, distinct int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.served {
		all += n
	}
	return all, len(s.served)
}

// settings are those of an endpoint that asks the server and does not wait long.
func (s *chatServer) settings(more map[string]any) map[string]any {
	out := map[string]any{"base_url": s.base(), "model": "m", "backoff": 0.001, "timeout": 5}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// chatSetup is what a constructor of a chat gets, with a folder of answers of its own; a budget of 0 is none.
func chatSetup(t testing.TB, budget float64) *Setup {
	t.Helper()
	var money *Budget
	if budget > 0 {
		money = newBudget(budget)
	}
	s := (&Build{Inputs: make(Inputs), Labels: claimLabels, asking: newAsking(t.TempDir(), money, func(string, ...any) {})}).Setup("chat")
	t.Cleanup(func() {
		if err := s.asking.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newChat makes an endpoint, closed at the end.
func newChat(t testing.TB, s *Setup, settings map[string]any) chat {
	t.Helper()
	c, err := newEndpointChat(t.Context(), s, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say is a conversation of one message.
func say(format string, args ...any) conversation {
	return conversation{{Role: "user", Content: fmt.Sprintf(format, args...)}}
}
