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
