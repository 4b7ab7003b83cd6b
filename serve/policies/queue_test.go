package policies

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// stage is a queue whose runs wait until they are let go, and are counted.
type stage struct {
	*queue
	let     chan struct{} // one run ends for each value
	started chan []*job
}

func newStage(workers, most, room int, delay time.Duration) *stage {
	return &stage{&queue{stage: "test", workers: workers, maxRows: most, maxWaiting: room, delay: delay}, make(chan struct{}), make(chan []*job, 100)}
}

// job is a job that runs until it is let go, or until ctx ends.
func (s *stage) job(like any, rows int) *job {
	return &job{batchKey: like, rows: rows, mayLeave: true, run: func(ctx context.Context, jobs []*job) {
		s.started <- jobs
		select {
		case <-s.let:
		case <-ctx.Done():
			for _, j := range jobs {
				j.err = ctx.Err()
			}
		}
	}}
}

// start runs a job from another goroutine.
func (s *stage) start(ctx context.Context, j *job) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.do(ctx, j) }()
	return done
}

// holds waits until some jobs wait.
func (s *stage) holds(t *testing.T, jobs int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := len(s.waiting)
		s.mu.Unlock()
		if n == jobs {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs wait, not %d", n, jobs)
		}
	}
}

// quiet checks that nothing is left.
func (s *stage) quiet(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != 0 || s.rows != 0 || len(s.waiting) != 0 {
		t.Errorf("left are %d running, %d waiting with %d rows", s.running, len(s.waiting), s.rows)
	}
}

func TestJobsGatherWhileWorkersAreBusy(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, ctx := newStage(2, 6, 100, 0), t.Context()
	var done []<-chan error
	for range 2 { // both run at once, alone
		done = append(done, s.start(ctx, s.job("a", 1)))
		if jobs := <-s.started; len(jobs) != 1 {
			t.Fatalf("%d jobs run, though a worker was idle", len(jobs))
		}
	}
	for i, j := range []*job{s.job("a", 2), s.job("b", 1), s.job("a", 2), s.job("a", 3), s.job("a", 2)} {
		done = append(done, s.start(ctx, j))
		s.holds(t, i+1)
	}
	for _, want := range []struct {
		like string
		rows []int
	}{{"a", []int{2, 2, 2}}, {"b", []int{1}}, {"a", []int{3}}} {
		s.let <- struct{}{}
		jobs := <-s.started
		var rows []int
		for _, j := range jobs {
			if j.batchKey != want.like {
				t.Errorf("%v runs with %q", j.batchKey, want.like)
			}
			rows = append(rows, j.rows)
		}
		if len(rows) != len(want.rows) || rows[0] != want.rows[0] {
			t.Errorf("%q: jobs of %v rows run, not %v", want.like, rows, want.rows)
		}
	}
	s.let <- struct{}{}
	s.let <- struct{}{}
	for _, d := range done {
		if err := <-d; err != nil {
			t.Error(err)
		}
	}
	s.quiet(t)
}

func TestAFullQueueRefuses(t *testing.T) {
	s, ctx := newStage(1, 4, 10, 0), t.Context()
	first := s.start(ctx, s.job(1, 1))
	<-s.started
	big := s.start(ctx, s.job(2, 50)) // one job always fits
	s.holds(t, 1)
	var overload *OverloadError
	if err := s.do(ctx, s.job(3, 1)); !errors.As(err, &overload) || overload.Rows != 50 || overload.RetryAfter() <= 0 || overload.Stage != "test" {
		t.Errorf("a full queue: %v", err)
	}
	s.let <- struct{}{}
	<-s.started
	s.let <- struct{}{}
	if err := errors.Join(<-first, <-big); err != nil {
		t.Error(err)
	}
	s.quiet(t)
}

func TestCallersLeave(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(1, 10, 100, 0)
	first := s.start(t.Context(), s.job(0, 1))
	<-s.started
	ctx, cancel := context.WithCancel(t.Context())
	waiting := s.start(ctx, s.job("a", 3))
	s.holds(t, 1)
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left the queue: %v", err)
	}
	s.holds(t, 0)
	// Of three that run together the first and the last leave: the run goes on for the second.
	var leaves [3]context.CancelFunc
	var done [3]<-chan error
	for i := range done {
		ctx, leaves[i] = context.WithCancel(t.Context())
		done[i] = s.start(ctx, s.job("b", 1))
		s.holds(t, i+1)
	}
	s.let <- struct{}{}
	if jobs := <-s.started; len(jobs) != 3 {
		t.Fatalf("%d jobs run together", len(jobs))
	}
	leaves[2]()
	if err := <-done[2]; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left the run: %v", err)
	}
	leaves[0]()
	s.let <- struct{}{}
	if err := errors.Join(<-done[0], <-done[1], <-first); err != nil {
		t.Errorf("a run that others left: %v", err)
	}
	leaves[1]()
	// When all have left, the run ends.
	first = s.start(t.Context(), s.job(0, 1))
	<-s.started
	ctx, cancel = context.WithCancel(t.Context())
	one, two := s.start(ctx, s.job("c", 1)), (<-chan error)(nil)
	s.holds(t, 1)
	two = s.start(ctx, s.job("c", 1))
	s.holds(t, 2)
	s.let <- struct{}{}
	<-s.started
	cancel()
	if err := <-one; !errors.Is(err, context.Canceled) {
		t.Errorf("a run that all have left: %v", err)
	}
	if err := errors.Join(<-first, func() error { <-two; return nil }()); err != nil {
		t.Error(err)
	}
	s.quiet(t)
}

func TestJobsThatWaitTooLongRunBesideOthers(t *testing.T) {
	s, ctx := newStage(1, 10, 100, 5*time.Millisecond), t.Context()
	var done []<-chan error
	for i, like := range []string{"a", "b"} {
		done = append(done, s.start(ctx, s.job(like, 1)))
		if jobs := <-s.started; len(jobs) != 1 {
			t.Fatalf("run %d has %d jobs", i, len(jobs))
		}
	}
	// Twice the workers run now: the next waits for one of them, however long.
	done = append(done, s.start(ctx, s.job("c", 1)))
	s.holds(t, 1)
	time.Sleep(20 * time.Millisecond)
	s.holds(t, 1)
	s.let <- struct{}{}
	<-s.started
	s.let <- struct{}{}
	s.let <- struct{}{}
	for _, d := range done {
		if err := <-d; err != nil {
			t.Error(err)
		}
	}
	s.quiet(t)
}

func TestAPanicFailsItsJobsOnly(t *testing.T) {
	s, ctx := newStage(1, 10, 100, 0), t.Context()
	first := s.start(ctx, s.job(0, 1))
	<-s.started
	panics := func(context.Context, []*job) { panic("boom") }
	lead := make(chan any, 1)
	go func() {
		defer func() { lead <- recover() }()
		_ = s.do(ctx, &job{batchKey: "a", rows: 1, run: panics})
	}()
	s.holds(t, 1)
	other := s.start(ctx, &job{batchKey: "a", rows: 1, run: panics})
	s.holds(t, 2)
	after := s.start(ctx, s.job("b", 1))
	s.holds(t, 3)
	s.let <- struct{}{}
	if v := <-lead; v != "boom" {
		t.Errorf("the panic is %v", v)
	}
	if err := <-other; !errors.Is(err, errPanicked) {
		t.Errorf("the other job: %v", err)
	}
	<-s.started
	s.let <- struct{}{}
	if err := errors.Join(<-first, <-after); err != nil {
		t.Error(err)
	}
	s.quiet(t)
}

// Under a random load of jobs of several kinds, whose callers leave at random, every job runs once or not at all, no more
// jobs run at once than may, and nothing is left.
func TestQueueUnderLoad(t *testing.T) {
	defer goleak.VerifyNone(t)
	const workers = 3
	q := &queue{stage: "test", workers: workers, maxRows: 8, maxWaiting: 200, delay: time.Millisecond}
	var running, most, refused, left atomic.Int64
	var callers sync.WaitGroup
	for c := range 40 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 7))
			for range 60 {
				ran := new(atomic.Int64)
				j := &job{batchKey: r.IntN(3), rows: 1 + r.IntN(12), work: ran, mayLeave: r.IntN(2) == 0, run: func(ctx context.Context, jobs []*job) {
					if n := running.Add(1); n > most.Load() {
						most.Store(n)
					}
					rows := 0
					for _, j := range jobs {
						j.work.(*atomic.Int64).Add(1)
						rows += j.rows
					}
					if len(jobs) > 1 && rows > 8 {
						t.Errorf("%d jobs of %d rows run together", len(jobs), rows)
					}
					time.Sleep(time.Duration(len(jobs)) * 100 * time.Microsecond)
					running.Add(-1)
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(30))*100*time.Microsecond)
				err := q.do(ctx, j)
				var overload *OverloadError
				switch {
				case errors.As(err, &overload):
					refused.Add(1)
				case err != nil:
					left.Add(1)
				case ran.Load() != 1:
					t.Errorf("a job ran %d times", ran.Load())
				}
				if ran.Load() > 1 {
					t.Errorf("a job ran %d times", ran.Load())
				}
				cancel()
			}
		})
	}
	callers.Wait()
	for end := time.Now().Add(time.Second); running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	(&stage{queue: q}).quiet(t)
	if n := most.Load(); n > 2*workers || n < workers {
		t.Errorf("%d runs at once", n)
	}
	t.Logf("%d callers left, %d refused, up to %d at once", left.Load(), refused.Load(), most.Load())
}
