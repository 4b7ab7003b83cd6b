package sharedlib

import (
	"fmt"
	"sync"
)

// Once is the one library of a kind that a process loads: it stays until the
// end. The zero value has none yet. It is safe for concurrent use.
type Once[L any] struct {
	mu      sync.Mutex
	path    string
	library *L
}

// Open returns the library, which load brings at the first call that it
// succeeds for. Another path than that of the loaded library is an error.
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
