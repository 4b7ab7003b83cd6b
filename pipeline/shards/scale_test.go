package shards

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// stub is a stage without a payload: what it costs is the protocol.
type stub struct{ m Manifest }

func (s *stub) Manifest() Manifest                             { return s.m }
func (s *stub) Prepare(context.Context, *storage.Folder) error { return nil }
func (s *stub) Close() error                                   { return nil }

func (s *stub) Shard(_ context.Context, shard int, _ string) (*Result, error) {
	from, to := Cut(shard, s.m.Shards, int(s.m.Rows))
	return &Result{Counts: map[string]int64{"rows": int64(to - from)}}, nil
}

func (s *stub) Gather(_ context.Context, p *Parts) (any, error) { return p.Counts()["rows"], nil }

// The protocol alone: shards of 4,096 instances with a stub in the place of experts, by four workers of one process. The
// number of requests per shard is bounded, and memory does not grow with the number of instances. PIPE_SHARDS_ROWS sets
// the instances; 10,000,000 take a minute or two on a local disk.
func TestProtocolAtScale(t *testing.T) {
	rows := 400_000
	if text := os.Getenv("PIPE_SHARDS_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const workers, each = 4, 4096
	m, memory := storagetest.New(t)
	for _, place := range []struct{ name, work string }{{"local folder", t.TempDir()}, {"memory", memory}} {
		s := &stub{Manifest{Stage: "stub", Shards: (rows + each - 1) / each, Rows: int64(rows), Inputs: map[string]string{}}}
		var made, most atomic.Int64
		stop := watchHeap(&most)
		start := time.Now()
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				w, err := Open(t.Context(), s, Default(storagetest.At(t, place.work)))
				if err != nil {
					t.Error(err)
					return
				}
				sum, err := w.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				made.Add(int64(len(sum.Made)))
			})
		}
		group.Wait()
		working := time.Since(start)
		kinds, requests := requestsOf(m)
		counted, err := Gather(t.Context(), s, Default(storagetest.At(t, place.work)))
		gathering := time.Since(start) - working
		stop()
		if err != nil || counted != int64(rows) || made.Load() != int64(s.m.Shards) {
			t.Fatalf("%d of %d shards, %v of %d rows, %v", made.Load(), s.m.Shards, counted, rows, err)
		}
		t.Logf("%s: %d instances in %d shards by %d workers: %.2f s, %.0f instances/s, %.0f shards/s; gathering %.2f s; heap at most %.1f MB",
			place.name, rows, s.m.Shards, workers, working.Seconds(), float64(rows)/working.Seconds(), float64(s.m.Shards)/working.Seconds(), gathering.Seconds(), float64(most.Load())/1e6)
		if place.work == memory {
			per := float64(requests) / float64(s.m.Shards)
			t.Logf("requests per shard: %.2f (%v)", per, kinds)
			if per > 8 {
				t.Errorf("%.2f requests per shard", per)
			}
		} else if most.Load() > 64e6 {
			t.Errorf("the heap grew to %d bytes", most.Load())
		}
	}
}

// requestsOf counts the requests by kind. A listing counts once, however many pages of a thousand names it has.
func requestsOf(m *storagetest.Memory) (kinds map[string]int, all int) {
	kinds = map[string]int{}
	for _, op := range []string{"stat", "read", "write", "list", "delete"} {
		kinds[op], _ = m.Requests(op)
		all += kinds[op]
	}
	return kinds, all
}

// watchHeap records the largest heap until it is stopped.
func watchHeap(most *atomic.Int64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			most.Store(max(most.Load(), int64(s.HeapInuse)))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}
