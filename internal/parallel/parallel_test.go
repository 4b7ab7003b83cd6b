package parallel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// Every number is called once, by at most as many goroutines at once as there are workers.
func TestEachCallsAll(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 3, 100} {
		for _, n := range []int{0, 1, 7, 50} {
			called := make([]atomic.Int64, n)
			var now, most atomic.Int64
			err := Each(t.Context(), workers, n, func(_ context.Context, i int) error {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Microsecond)
				called[i].Add(1)
				now.Add(-1)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range called {
				if c := called[i].Load(); c != 1 {
					t.Errorf("%d workers: %d of %d was called %d times", workers, i, n, c)
				}
			}
			if m := most.Load(); m > int64(max(workers, 1)) {
				t.Errorf("%d concurrent calls with %d workers", m, workers)
			}
		}
	}
}

// The error is that of the lowest number, and nothing starts after it.
func TestEachFirstError(t *testing.T) {
	for round := range 50 {
		var last atomic.Int64
		err := Each(t.Context(), 1+round%8, 1000, func(_ context.Context, i int) error {
			last.Store(max(last.Load(), int64(i)))
			if i >= 20 && i%2 == 0 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "call 20" {
			t.Fatalf("error is %v", err)
		}
		if last.Load() > 500 {
			t.Errorf("call %d started after the error of 20", last.Load())
		}
	}
}

// An error ends later calls and lets earlier ones finish, whose errors come first.
func TestEachLaterCalls(t *testing.T) {
	second, ended := make(chan struct{}), make(chan struct{})
	err := Each(t.Context(), 3, 3, func(ctx context.Context, i int) error {
		switch i {
		case 0: // still runs when the other two have ended
			<-ended
			return errors.Join(errors.New("earliest"), ctx.Err())
		case 1:
			<-second
			return errors.New("later")
		}
		close(second)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	if err == nil || err.Error() != "earliest" {
		t.Errorf("error is %v", err)
	}
}

// With First an error ends earlier calls too, and their errors do not replace it.
func TestFirst(t *testing.T) {
	started := make(chan struct{})
	var calls atomic.Int64
	err := First(t.Context(), 2, 100, func(ctx context.Context, i int) error {
		calls.Add(1)
		if i == 1 {
			<-started
			return errors.New("first in time")
		}
		close(started)
		<-ctx.Done()
		return errors.New("ended early")
	})
	if err == nil || err.Error() != "first in time" || calls.Load() != 2 {
		t.Errorf("error is %v after %d calls", err, calls.Load())
	}
	if err := First(t.Context(), 3, 10, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
}

// The end of the context is reported with its cause, even if no call looks at it.
func TestEachContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no more")
	var calls atomic.Int64
	err := Each(ctx, 1, 10, func(context.Context, int) error {
		if calls.Add(1) == 3 {
			cancel(cause)
		}
		return nil
	})
	if !errors.Is(err, cause) || calls.Load() != 3 {
		t.Errorf("error is %v after %d calls", err, calls.Load())
	}
}

func TestDo(t *testing.T) {
	squares := make([]int, 100)
	Do(len(squares), func(i int) { squares[i] = i * i })
	for i, s := range squares {
		if s != i*i {
			t.Fatalf("%d: %d", i, s)
		}
	}
}
