package policies

import (
	"context"
	"errors"
	"sync"
	"time"

	"pipe/serve/metrics"
)

// queue bounds the number of jobs that run at once. While a worker is idle, a job runs at once, on the goroutine of its
// caller. Otherwise it waits. When a run ends, its worker goes to the caller of the job that has waited longest, which runs
// the job as a batch with others that have the same key. So the queue needs no goroutine of its own, and no job waits while
// a worker is idle.
type queue struct {
	stage      string // for metrics and errors
	workers    int
	maxRows    int // of a batch
	maxLoad    int // of a batch; 0: any
	maxWaiting int // rows that may wait
	delay      time.Duration
	metrics    *metrics.Metrics
	observe    func(jobs int) // called for each run, for tests; may be nil

	mu      sync.Mutex
	running int
	waiting []*job
	rows    int // of waiting
	timer   *time.Timer
}

// job is a request, or a part of one, that runs once.
type job struct {
	batchKey any // jobs with the same value can run in one batch
	rows     int
	load     int                                        // work, in the unit of the queue
	run      func(ctx context.Context, together []*job) // runs this job and others with the same key
	work     any                                        // the data of run
	mayLeave bool                                       // do may return while the job runs, because run reads nothing that the caller may change

	since   time.Time
	err     error
	wake    chan []*job // receives the batch to run, this job first; or nil if the job has run
	onLeave func()      // called when the caller leaves the running job
}

var errPanicked = errors.New("the run ended early")

// do runs a job, alone or in a batch. It returns the error of ctx, an *OverloadError, or the error that run stored in the
// job. A batch is cancelled only when the contexts of all its callers have ended.
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

// runBatch runs a batch on the goroutine of the caller of j. The batch is nil if j has already run in another one.
func (q *queue) runBatch(ctx context.Context, j *job, together []*job) error {
	if together != nil {
		q.run(ctx, together)
	}
	return j.err
}

// push appends a job to the waiting ones.
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

// abandon removes a job whose context has ended from the waiting jobs, or from its batch if it may leave that. It returns
// false if the caller must wait for the job.
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

// run runs a batch and passes the worker on to waiting jobs.
func (q *queue) run(ctx context.Context, together []*job) {
	ended := false
	defer func() {
		for _, j := range together {
			if !ended {
				j.err = errPanicked
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

// batchContext returns the context of a batch, which ends when all its callers have left.
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

// finish passes the worker of a batch on to waiting jobs, or makes it idle.
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

// nextBatch removes and returns the next batch: the job that has waited longest, and others with the same key.
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

// isLate reports whether a job has waited longer than the delay.
func (q *queue) isLate() bool {
	return q.delay > 0 && len(q.waiting) > 0 && time.Since(q.waiting[0].since) >= q.delay
}

// startTimer calls overdue when the job that has waited longest reaches the delay.
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

// overdue runs jobs that have waited longer than the delay although all workers are busy.
func (q *queue) overdue() {
	q.mu.Lock()
	var next []*job
	switch {
	case len(q.waiting) == 0:
	case q.running >= 2*q.workers: // the next run that ends takes them
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
