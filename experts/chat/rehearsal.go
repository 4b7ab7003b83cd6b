package chat

import (
	"context"
	"sync"
)

// Rehearsal counts the requests that a run would make, without making them: under its contexts, endpoints return kept
// answers, and empty ones in the place of those that they would ask for. It is safe for concurrent use.
type Rehearsal struct {
	mu   sync.Mutex
	seen map[string]rehearsed // by the key of the request
}

// rehearsed is a request: the first of those who would make it, and whether its answer is kept.
type rehearsed struct {
	who  int
	kept bool
}

// NewRehearsal returns a rehearsal in which nothing is counted yet.
func NewRehearsal() *Rehearsal { return &Rehearsal{seen: make(map[string]rehearsed)} }

// Calls counts distinct requests.
type Calls struct {
	Kept int64 // whose answers are kept
	New  int64 // others
}

type rehearsalKey struct{}

// rehearsing is the value of a context of a rehearsal.
type rehearsing struct {
	*Rehearsal
	who int
}

// Count returns a context under which requests are counted for who, a number, and not made. A request of several is
// counted for the least of them.
func (r *Rehearsal) Count(ctx context.Context, who int) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, rehearsing{r, who})
}

// Calls returns the counts of who.
func (r *Rehearsal) Calls(who int) (c Calls) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seen {
		switch {
		case s.who != who:
		case s.kept:
			c.Kept++
		default:
			c.New++
		}
	}
	return c
}

// rehearsalOf returns the rehearsal of a context; ok is false for others.
func rehearsalOf(ctx context.Context) (r rehearsing, ok bool) {
	r, ok = ctx.Value(rehearsalKey{}).(rehearsing)
	return r, ok
}

// add counts a request.
func (r rehearsing) add(key string, kept bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, seen := r.seen[key]; !seen || r.who < was.who {
		r.seen[key] = rehearsed{r.who, kept}
	}
}
