package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/stage"
)

// stream passes batches from a source through several workers to a sink.
type stream struct {
	router   *Router
	workers  int
	progress stage.Progress
	done     int64
	counts   []int64
	accepted int64
}

// job is one batch in progress; ready is closed when decisions or err are set.
type job struct {
	batch     *rowBatch
	decisions *policy.Decisions
	err       error
	ready     chan struct{}
}

// run reads, decides and writes concurrently. queue keeps the order and limits the number of batches in progress: each
// batch enters it before a worker may take it. When run returns, all its goroutines have ended, except a read of text
// that cannot be interrupted.
func (s *stream) run(ctx context.Context, src featureSource, sink decisionSink) error {
	ctx, cancel := context.WithCancel(ctx)
	queue, work := make(chan *job, 2*s.workers), make(chan *job)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.read(ctx, src, queue, work)
	}()
	if src.rows() >= 0 { // a file: it ends, and may be a temporary one to remove
		defer func() { <-finished }()
	}
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() { s.work(ctx, work) })
	}
	defer workers.Wait()
	defer cancel()
	s.counts = make([]int64, s.router.Info().Actions.Len())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case j, more := <-queue:
			if !more {
				return ctx.Err()
			}
			if err := s.write(ctx, j, sink); err != nil {
				return err
			}
		}
	}
}

// read feeds queue and work until the source ends, and closes both and the source.
func (s *stream) read(ctx context.Context, src featureSource, queue, work chan<- *job) {
	defer src.close()
	defer close(queue)
	defer close(work)
	for {
		batch, err := src.next(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		j := &job{batch: batch, err: err, ready: make(chan struct{})}
		select {
		case queue <- j:
		case <-ctx.Done():
			return
		}
		if err != nil {
			close(j.ready)
			return
		}
		select {
		case work <- j:
		case <-ctx.Done():
			return
		}
	}
}

// work decides batches until there are no more or ctx ends, whichever comes first: the reader may be blocked in a read
// that never returns.
func (s *stream) work(ctx context.Context, work <-chan *job) {
	for {
		select {
		case <-ctx.Done():
			return
		case j, more := <-work:
			if !more {
				return
			}
			s.decide(ctx, j)
		}
	}
}

func (s *stream) decide(ctx context.Context, j *job) {
	defer close(j.ready)
	j.decisions, j.err = s.router.batch(ctx, j.batch.features, len(j.batch.ids))
	if row, ok := errors.AsType[*policy.RowError](j.err); ok {
		j.err = &costs.DataError{Msg: fmt.Sprintf("decide: id %q", j.batch.ids[row.Row]), Err: row.Err}
	}
}

func (s *stream) write(ctx context.Context, j *job, sink decisionSink) error {
	select {
	case <-j.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.err != nil {
		return j.err
	}
	ids, decisions := j.batch.ids, j.decisions
	if from, to := j.batch.drop, len(ids)-j.batch.spare; to-from < len(ids) {
		ids, decisions = ids[from:to], decisions.Rows(from, to)
	}
	if err := sink.write(ids, decisions); err != nil {
		return err
	}
	for _, i := range decisions.Action {
		s.counts[i]++
	}
	for _, ok := range decisions.Accepted {
		if ok {
			s.accepted++
		}
	}
	s.done += int64(len(ids))
	s.progress.Add(int64(len(ids)))
	return nil
}

// acceptedRows are those that the guarantee of the policy is about; nil: it has none.
func (s *stream) acceptedRows() *int64 {
	if s.router.Info().Guarantee == nil {
		return nil
	}
	return &s.accepted
}

func (s *stream) chosen(a *costs.Actions) map[string]int64 {
	names := make(map[string]int64)
	for i, n := range s.counts {
		if n > 0 {
			names[a.Name(i)] = n
		}
	}
	return names
}
