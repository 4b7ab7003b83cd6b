package job

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"pipe/internal/progress"
	"pipe/pipeline/shards"
)

// Worker runs shards of jobs. It is one per process.
type Worker struct {
	stages map[string]Opener

	mu      sync.Mutex
	open    map[string]*opened // by the payload of the job
	ending  context.Context    // ends when the worker is closed
	end     context.CancelFunc
	running sync.WaitGroup // shards
}

// NewWorker returns a worker for the stages that openers open by name.
func NewWorker(stages map[string]Opener) *Worker {
	w := &Worker{stages: stages, open: map[string]*opened{}}
	w.ending, w.end = context.WithCancel(context.Background())
	return w
}

// opened is a stage that all shards of a job share in a process. It stays open for the life of the process.
type opened struct {
	mu      sync.Mutex
	job     *Job
	stage   shards.Stage
	work    *shards.Work
	stopped error // every shard of the job meets it
}

// Close ends the shards that run, so that nothing more is paid for, and closes the stages, for example to give back what is left of a budget.
func (w *Worker) Close() {
	w.end()
	w.running.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for payload, o := range w.open {
		if o.stage != nil {
			_ = o.stage.Close() // the process ends: there is no reader of the error
		}
		delete(w.open, payload)
	}
}

// Task runs one shard; it is an engine.Task. Errors of the shard are no errors for the runner, which would begin the whole job again: they are left in the
// work folder, and the other shards go on.
func (w *Worker) Task(ctx context.Context, payload []byte, shard int) (map[string]int64, error) {
	w.mu.Lock()
	w.running.Add(1) // not while Close waits
	w.mu.Unlock()
	defer w.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ending, cancel)()
	o, err := w.take(ctx, payload)
	if err != nil {
		return nil, err
	}
	counts, err := o.run(ctx, shard)
	if err == nil || ctx.Err() != nil {
		return counts, err
	}
	return map[string]int64{"shards_failed": 1}, report(ctx, o.job, shard, err, o.stops(err))
}

// take returns the opened job. A stage that could not be opened is not tried again: its error is that of all shards here.
func (w *Worker) take(ctx context.Context, payload []byte) (*opened, error) {
	w.mu.Lock()
	o := w.open[string(payload)]
	if o == nil {
		o = &opened{job: &Job{}}
		if err := json.Unmarshal(payload, o.job); err != nil {
			w.mu.Unlock()
			return nil, fmt.Errorf("read the job: %w", err)
		}
		w.open[string(payload)] = o
	}
	w.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.work == nil && o.stopped == nil {
		// The stage outlives the shard, so it must not end with its context.
		o.stage, o.work, o.stopped = o.job.open(context.WithoutCancel(ctx), w.stages, progress.Silent{})
	}
	return o, nil
}

// run makes a shard, with as many tries as the job allows.
func (o *opened) run(ctx context.Context, shard int) (map[string]int64, error) {
	for try := 1; ; try++ {
		if err := o.stop(); err != nil {
			return nil, err
		}
		done, made, err := o.work.RunAlone(ctx, shard)
		switch {
		case err == nil && !made:
			return map[string]int64{"shards_found": 1}, nil
		case err == nil:
			counts := map[string]int64{"shards_made": 1}
			for name, n := range done.Counts {
				counts[name] = n
			}
			return counts, nil
		case ctx.Err() != nil || try >= o.job.Tries || o.stops(err):
			return nil, err
		}
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// stop returns the error that every shard meets, if there is one.
func (o *opened) stop() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stopped
}

// stops reports whether every other shard would have the error too, and remembers that.
func (o *opened) stops(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped == nil && o.work != nil && o.work.Stops(err) {
		o.stopped = err
	}
	return o.stopped != nil
}
