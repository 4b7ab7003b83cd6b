// Package responses keeps the responses that later requests go on from, within limits.
package responses

import (
	"container/list"
	"encoding/json"
	"sync"

	"pipe/internal/config"
)

// Settings bound the responses that are kept in memory. The least recently used are forgotten first.
type Settings struct {
	Keep  int `yaml:"keep"`  // most responses; 0: none is kept
	Bytes int `yaml:"bytes"` // most bytes of all of them together
}

const (
	maxKeep  = 10_000_000
	maxBytes = 1 << 40
)

// Validate reports every problem.
func (s Settings) Validate() error {
	var p config.Problems
	p.Check(s.Keep >= 0 && s.Keep <= maxKeep, "keep: is %d, not 0 to %d", s.Keep, maxKeep)
	p.Check(s.Bytes >= 0 && s.Bytes <= maxBytes, "bytes: is %d, not 0 to %d", s.Bytes, maxBytes)
	return p.Err()
}

// Response is a response with what led to it.
type Response struct {
	Key    string
	Expert string            // that answered; "": none, the gateway did
	Items  []json.RawMessage // of the whole conversation, with the answer
}

// bytes is the memory that a response takes.
func (r *Response) bytes() (n int) {
	const header = 24 // of a slice
	for _, item := range r.Items {
		n += len(item) + header
	}
	return n
}

// Store has the responses of a server. The zero value is empty. It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // of order
	order list.List                // of *Response, the most recently used first
	bytes int
}

// Get returns a response; nil: it is not kept.
func (s *Store) Get(key string) *Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*Response)
}

// Put keeps a response within the limits.
func (s *Store) Put(r *Response, limit Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[string]*list.Element{}
	}
	if old := s.byKey[r.Key]; old != nil {
		s.remove(old)
	}
	s.byKey[r.Key] = s.order.PushFront(r)
	s.bytes += r.bytes()
	for s.order.Len() > limit.Keep || s.bytes > limit.Bytes {
		s.remove(s.order.Back())
	}
}

func (s *Store) remove(e *list.Element) {
	r := s.order.Remove(e).(*Response)
	delete(s.byKey, r.Key)
	s.bytes -= r.bytes()
}
