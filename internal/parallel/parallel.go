// Package parallel runs independent calls in parallel.
package parallel

import (
	"context"
	"runtime"
	"sync"
)

// Each calls do for 0 to n-1 from at most workers goroutines, its own included, started in that order, and returns when all calls that
// were started have ended. After an error no further call starts, and the contexts of running calls with higher numbers
// are cancelled; lower ones go on. Each therefore returns the error of the lowest number, however many workers there
// are. When ctx ends, its cause is returned.
func Each(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	return (&run{failed: n}).all(ctx, workers, n, do)
}

// First is Each for calls that take long or cost money: an error cancels all others, including lower numbers. It
// returns the error that came first in time.
func First(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	return (&run{failed: n, atOnce: true}).all(ctx, workers, n, do)
}

// all runs the calls of Each or First.
func (r *run) all(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	r.running = make(map[int]context.CancelFunc)
	work := func() {
		for ctx.Err() == nil {
			i, inner, ok := r.start(ctx)
			if !ok {
				return
			}
			r.end(i, do(inner, i))
		}
	}
	var calls sync.WaitGroup
	for range min(max(workers, 1), n) - 1 {
		calls.Go(work)
	}
	work() // in this goroutine: starting one, and growing its stack, takes as long as a short call
	calls.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.err
}

// run is the state that the workers of one Each or First share.
type run struct {
	atOnce  bool // an error cancels earlier calls too
	lock    sync.Mutex
	next    int
	running map[int]context.CancelFunc
	failed  int // lowest number of a call that failed; the number of calls if none has
	err     error
}

// start returns the next number and the context of its call; ok is false when there is none left or a call has failed.
func (r *run) start(ctx context.Context) (i int, inner context.Context, ok bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.next >= r.failed {
		return 0, nil, false
	}
	i = r.next
	r.next++
	inner, r.running[i] = context.WithCancel(ctx)
	return i, inner, true
}

func (r *run) end(i int, err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.running[i]()
	delete(r.running, i)
	if err == nil || i > r.failed {
		return
	}
	r.failed, r.err = i, err
	if r.atOnce {
		r.failed = -1 // no other error counts, and no call starts
	}
	for other, cancel := range r.running {
		if other > r.failed {
			cancel()
		}
	}
}

// Do calls do for 0 to n-1 on all cores. Calls must not share anything that they write, so the number of cores does not
// change the result.
func Do(n int, do func(i int)) {
	_ = Each(context.Background(), runtime.GOMAXPROCS(0), n, func(_ context.Context, i int) error { // do cannot fail
		do(i)
		return nil
	})
}
