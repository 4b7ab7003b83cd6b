package gatewaytest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Script is an answer that a service gives in any of three protocols: chat, messages or responses.
type Script struct {
	Model     string
	Reasoning string
	Text      string // words are the events of a stream
	Calls     []ScriptCall
	Cut       bool // the limit of tokens ended it
}

// ScriptCall is a call of a tool.
type ScriptCall struct{ ID, Name, Arguments string }

// scriptDialects are the dialects of the protocols, whose paths are those of requests.
var scriptDialects = map[string]Dialect{"chat": chatDialect, "messages": anthropicDialect, "responses": responsesDialect}

// said is the answer with the tokens of Usage.
func (s Script) said() Said {
	a := Said{Thinking: s.Reasoning, Text: s.Text, Finish: "stop", In: 1000, Cached: 400, Out: 100}
	for _, c := range s.Calls {
		a.Finish = "calls"
		a.Calls = append(a.Calls, Call{c.ID, c.Name, json.RawMessage(c.Arguments)})
	}
	if s.Cut {
		a.Finish = "length"
	}
	return a
}

// Whole is the answer in one piece.
func (s Script) Whole(protocol string) string {
	return string(scriptDialects[protocol].Write(&Seen{Model: s.Model}, s.said()))
}

// Stream is the answer as events. usage adds the chunk with the usage to one of chat completions.
func (s Script) Stream(protocol string, usage bool) []string {
	return scriptDialects[protocol].Event(&Seen{Model: s.Model, Usage: usage}, s.said())
}

// Scripted is a service that answers by a script, in the protocol of the path that is called.
type Scripted struct {
	*httptest.Server
	mu       sync.Mutex
	script   Script
	fault    func(w http.ResponseWriter, r *http.Request) bool
	requests []Request
}

// NewScripted returns a service. The test closes it.
func NewScripted(t testing.TB, script Script) *Scripted {
	t.Helper()
	s := &Scripted{script: script}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Set sets the script, and what answers instead of it if it returns true.
func (s *Scripted) Set(script Script, fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.fault = script, fault
}

// Requests returns what came since the last call.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// ServeHTTP answers a request.
func (s *Scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	header := r.Header.Clone()
	header.Set("Path", r.URL.Path)
	s.mu.Lock()
	s.requests = append(s.requests, Request{header, body})
	script, fault := s.script, s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	protocol, ok := map[string]string{"/v1/chat/completions": "chat", "/v1/messages": "messages", "/v1/responses": "responses"}[r.URL.Path]
	var q asked
	if json.Unmarshal(body, &q) != nil || !ok {
		http.NotFound(w, r)
		return
	}
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, script.Whole(protocol))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range script.Stream(protocol, q.Options.Usage) {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}
