package ort

import (
	"errors"
	"io"
	"sync"
)

// keptSets is how many sets of buffers a pool keeps.
const keptSets = 16

// Pool keeps sets of buffers between the calls of a session: at most 16 that no call uses. The zero Pool is empty. It is safe for
// concurrent use.
type Pool[B io.Closer] struct {
	mu     sync.Mutex
	idle   []B
	closed bool
}

// Take returns the set that was put back last among those that fit, which no other call uses; else what create returns. After Close
// the error is ErrClosed.
func (p *Pool[B]) Take(fits func(B) bool, create func() (B, error)) (B, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		var none B
		return none, ErrClosed
	}
	for i := len(p.idle) - 1; i >= 0; i-- {
		if b := p.idle[i]; fits(b) {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			p.mu.Unlock()
			return b, nil
		}
	}
	p.mu.Unlock()
	return create()
}

// Put keeps b for a later call, in place of the oldest set if there are too many. After Close it frees b.
func (p *Pool[B]) Put(b B) {
	p.mu.Lock()
	var drop []B
	if p.idle = append(p.idle, b); p.closed || len(p.idle) > keptSets {
		drop, p.idle = []B{p.idle[0]}, p.idle[1:]
	}
	p.mu.Unlock()
	for _, b := range drop {
		_ = b.Close() // freeing memory has no error that a caller could act on
	}
}

// Close frees the sets that no call uses. Those of running calls are freed when they are put back. It is idempotent.
func (p *Pool[B]) Close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var errs []error
	for _, b := range idle {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
