package sharedlib

import (
	"fmt"
	"sync"
)

// Once is a library that a process loads at most once and never unloads. The zero value has not loaded it. It is safe
// for concurrent use.
type Once[L any] struct {
	mu      sync.Mutex
	path    string
	library *L
}

// Open returns the library. The first call that succeeds loads it with load; after that, another path is an error.
func (o *Once[L]) Open(path string, load func(path string) (*L, error)) (*L, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.library == nil {
		library, err := load(path)
		if err != nil {
			return nil, err
		}
		o.path, o.library = path, library
	}
	if o.path != path {
		return nil, fmt.Errorf("this process already uses %q", o.path)
	}
	return o.library, nil
}
