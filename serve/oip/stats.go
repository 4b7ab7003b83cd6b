package oip

import (
	"sync"
	"sync/atomic"
	"time"
)

// stats are the counters of every model that had a request, for the statistics of Triton.
type stats struct {
	models sync.Map // name to *modelStats
}

// modelStats counts the requests of one model.
type modelStats struct {
	name                  string
	last                  atomic.Int64 // milliseconds since 1970
	rows                  atomic.Uint64
	succeeded, failed     atomic.Uint64
	succeededNS           atomic.Uint64 // of the whole request
	failedNS              atomic.Uint64
	inputNS, runNS, outNS atomic.Uint64
}

func (s *stats) of(name string) *modelStats {
	if m, ok := s.models.Load(name); ok {
		return m.(*modelStats)
	}
	m, _ := s.models.LoadOrStore(name, &modelStats{name: name})
	return m.(*modelStats)
}

// times are the durations of the stages of one request.
type times struct{ start, read, ran time.Time }

// count counts a request.
func (m *modelStats) count(t times, ok bool, rows int) {
	now := time.Now()
	whole := nanoseconds(now.Sub(t.start))
	if !ok {
		m.failed.Add(1)
		m.failedNS.Add(whole)
		return
	}
	m.last.Store(now.UnixMilli())
	m.rows.Add(uint64(rows))
	m.succeeded.Add(1)
	m.succeededNS.Add(whole)
	m.inputNS.Add(nanoseconds(t.read.Sub(t.start)))
	m.runNS.Add(nanoseconds(t.ran.Sub(t.read)))
	m.outNS.Add(nanoseconds(now.Sub(t.ran)))
}

// nanoseconds returns a duration in nanoseconds, 0 for a negative one.
func nanoseconds(d time.Duration) uint64 { return uint64(max(d, 0)) }
