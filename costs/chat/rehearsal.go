package chat

import (
	"context"
	"sync"
)

// Rehearsal counts the requests that a run would make, without making them: under its contexts, endpoints return kept
// answers, and empty ones in the place of those that they would ask for. It is safe for concurrent use.
type Rehearsal struct {
	mu   sync.Mutex
	seen map[string]struct{} // keys of requests
}

// NewRehearsal returns a rehearsal in which nothing is counted yet.
func NewRehearsal() *Rehearsal { return &Rehearsal{seen: make(map[string]struct{})} }

// Calls counts distinct requests of some part of a rehearsal.
type Calls struct {
	Kept int64 // whose answers are kept
	New  int64 // others

	of *Rehearsal
}

type callsKey struct{}

// Count returns a context under which requests are not made but added to c. A request that was counted before, here or
// elsewhere in the rehearsal, is not counted again.
func (r *Rehearsal) Count(ctx context.Context, c *Calls) context.Context {
	c.of = r
	return context.WithValue(ctx, callsKey{}, c)
}

// callsOf returns the counts of a context of a rehearsal, nil for others.
func callsOf(ctx context.Context) *Calls {
	c, _ := ctx.Value(callsKey{}).(*Calls)
	return c
}

// add counts a request.
func (c *Calls) add(key string, kept bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if _, seen := c.of.seen[key]; seen {
		return
	}
	c.of.seen[key] = struct{}{}
	if kept {
		c.Kept++
	} else {
		c.New++
	}
}

// Limits are the limits of a part that asks a service.
type Limits struct {
	Account           string  // equal for parts that share the limits on requests and tokens
	Concurrency       int     // requests of the part in flight
	RequestsPerSecond float64 // of the account; 0: no limit
	TokensPerMinute   float64 // of the account; 0: no limit
	Priced            bool    // its tokens have a price
}

// Limits returns the limits of a part; ok is false for one that asks no service.
func (q *Session) Limits(part string) (l Limits, ok bool) {
	l, ok = q.limits[part]
	for _, other := range q.limits {
		if other.Account == l.Account {
			l.RequestsPerSecond = strictest(l.RequestsPerSecond, other.RequestsPerSecond)
			l.TokensPerMinute = strictest(l.TokensPerMinute, other.TokensPerMinute)
		}
	}
	return l, ok
}

// strictest returns the smaller of two limits, of which 0 is none.
func strictest(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// rehearse returns the answer of a request in a rehearsal.
func (e *endpoint) rehearse(c *Calls, r *request) (Completion, error) {
	a, kept, err := e.session.store.peek(r.key)
	if err != nil {
		return Completion{}, err
	}
	c.add(r.key, kept)
	return Completion{Text: a.Text, Truncated: a.Truncated, ToolCall: a.ToolCall}, nil
}

// peek returns a kept answer.
func (s *answerStore) peek(request string) (a answer, kept bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return answer{}, false, err
	}
	a, kept = s.kept[request]
	return a, kept, nil
}
