package policies

import (
	"context"
	"errors"
	"sync"
	"time"

	"pipe/serve/metrics"
)

// queue lets a few jobs run at the same time. While fewer run, a job runs at once, on its caller's goroutine. Else it
// waits; whoever ends hands its place to the caller of the job that waits longest, who runs it together with others that
// are alike. So the queue has no goroutine, and no job waits while a worker is idle.
type queue struct {
	stage      string // for metrics and errors
	workers    int
	maxRows    int // rows that run together
	maxLoad    int // load that runs together; 0: any
	maxWaiting int // rows that wait
	delay      time.Duration
	metrics    *metrics.Metrics
	observe    func(jobs int) // of each run, for tests; may be nil

	mu      sync.Mutex
	running int
	waiting []*job
	rows    int // of waiting
	timer   *time.Timer
}

// job is a part of a request that runs once.
type job struct {
	batchKey any // jobs with the same value can run together
	rows     int
	load     int                                        // work, in the unit of the queue
	run      func(ctx context.Context, together []*job) // of this job and others that are alike
	work     any                                        // what run reads and writes
	mayLeave bool                                       // the caller may leave while the job runs: run reads nothing that the caller may change

	since   time.Time
	err     error
	wake    chan []*job // the jobs to run, this first; or nil: it has run
	onLeave func()      // the caller has left the running job
}

var errPanicked = errors.New("the run ended early")

// do runs a job, alone or with others. The error is about waiting: that of ctx or an *OverloadError; what happened to the
// job itself is up to run. A job that runs with others goes on when ctx ends, until all its callers have left.
func (q *queue) do(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.running < q.workers && len(q.waiting) == 0 {
		q.running++
		q.mu.Unlock()
		q.run(ctx, []*job{j})
		return j.err
	}
	if err := q.push(j); err != nil {
		q.mu.Unlock()
		return err
	}
	q.mu.Unlock()
	select {
	case together := <-j.wake:
		return q.runBatch(ctx, j, together)
	case <-ctx.Done():
	}
	if q.abandon(j) {
		return ctx.Err()
	}
	return q.runBatch(ctx, j, <-j.wake)
}

// runBatch runs the jobs that the caller of j has to run; for none, j has run.
func (q *queue) runBatch(ctx context.Context, j *job, together []*job) error {
	if together != nil {
		q.run(ctx, together)
	}
	return j.err
}

// push makes a job wait.
func (q *queue) push(j *job) error {
	if q.rows+j.rows > q.maxWaiting && q.rows > 0 {
		return &OverloadError{Stage: q.stage, Rows: q.rows, After: time.Second}
	}
	j.wake, j.since = make(chan []*job, 1), time.Now()
	q.waiting = append(q.waiting, j)
	q.rows += j.rows
	q.metrics.Queue(q.stage, q.rows)
	if len(q.waiting) == 1 {
		q.startTimer()
	}
	return nil
}

// abandon takes a job whose caller has gone out of the queue, or out of a run if it may.
func (q *queue) abandon(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == j {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.rows -= j.rows
			q.metrics.Queue(q.stage, q.rows)
			return true
		}
	}
	if j.mayLeave && j.onLeave != nil {
		j.onLeave()
		return true
	}
	return false
}

// run runs jobs and hands the place to those that wait.
func (q *queue) run(ctx context.Context, together []*job) {
	ended := false
	defer func() {
		for _, j := range together {
			if !ended {
				j.err = errPanicked // a panic
			}
		}
		q.finish(together)
	}()
	if len(together) > 1 {
		var stop func()
		ctx, stop = q.batchContext(ctx, together)
		defer stop()
	}
	rows := 0
	for _, j := range together {
		rows += j.rows
	}
	q.metrics.Batch(q.stage, rows)
	if q.observe != nil {
		q.observe(len(together))
	}
	together[0].run(ctx, together)
	ended = true
}

// batchContext is the context of several jobs: it ends when all their callers have left.
func (q *queue) batchContext(ctx context.Context, together []*job) (context.Context, func()) {
	both, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var mu sync.Mutex
	there := len(together)
	left := func() {
		mu.Lock()
		defer mu.Unlock()
		if there--; there == 0 {
			cancel()
		}
	}
	q.mu.Lock()
	for _, j := range together[1:] {
		j.onLeave = left
	}
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, left)
	return both, func() { stop(); cancel() }
}

// finish gives the place of jobs that have run to others, or back.
func (q *queue) finish(together []*job) {
	q.mu.Lock()
	var next []*job
	if q.running <= q.workers || q.isLate() {
		next = q.nextBatch()
	}
	if next == nil {
		q.running--
	}
	q.mu.Unlock()
	if next != nil {
		next[0].wake <- next
	}
	for _, j := range together[1:] {
		j.wake <- nil
	}
}

// nextBatch returns the jobs that run next: the one that waits longest, and others that are alike.
func (q *queue) nextBatch() []*job {
	if len(q.waiting) == 0 {
		return nil
	}
	first, rows, load := q.waiting[0], 0, 0
	var next []*job
	rest := q.waiting[:0]
	for i, j := range q.waiting {
		if i == 0 || j.batchKey == first.batchKey && rows+j.rows <= q.maxRows && (q.maxLoad == 0 || load+j.load <= q.maxLoad) {
			next, rows, load = append(next, j), rows+j.rows, load+j.load
		} else {
			rest = append(rest, j)
		}
	}
	clear(q.waiting[len(rest):])
	q.waiting = rest
	q.rows -= rows
	q.metrics.Queue(q.stage, q.rows)
	if len(rest) > 0 {
		q.startTimer()
	}
	return next
}

// isLate reports whether the job that waits longest has waited too long.
func (q *queue) isLate() bool {
	return q.delay > 0 && len(q.waiting) > 0 && time.Since(q.waiting[0].since) >= q.delay
}

// startTimer wakes the queue when the job that waits longest has waited too long.
func (q *queue) startTimer() {
	if q.delay <= 0 {
		return
	}
	wait := max(0, q.delay-time.Since(q.waiting[0].since))
	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.overdue)
	} else {
		q.timer.Reset(wait)
	}
}

// overdue lets jobs that have waited too long run beside the others.
func (q *queue) overdue() {
	q.mu.Lock()
	var next []*job
	switch {
	case len(q.waiting) == 0:
	case q.running >= 2*q.workers: // the next that ends takes them
	case !q.isLate():
		q.startTimer()
	default:
		q.running++
		next = q.nextBatch()
	}
	q.mu.Unlock()
	if next != nil {
		next[0].wake <- next
	}
}
