package serve

import (
	"context"
	"log/slog"
	"time"

	"pipe/pipeline/decisionlog"
)

// lookEvery is how often the state of the decision log is looked at, and lostEvery how often lost decisions are reported
// while more are lost.
const (
	lookEvery = time.Second
	lostEvery = time.Minute
)

// watchLog reports changes of the decision log's state, until ctx ends.
func (s *Server) watchLog(ctx context.Context) {
	if s.parts.log == nil {
		return
	}
	r := &logReporter{log: s.log}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.look(s.parts.log.Stats(), time.Now(), true)
			return
		case now := <-tick.C:
			r.look(s.parts.log.Stats(), now, false)
		}
	}
}

// logReporter writes to the server's log when the decision log stops, when it goes on, and how many decisions were lost.
type logReporter struct {
	log     *slog.Logger
	stopped bool
	dropped int64     // that were reported
	told    time.Time // when
}

// look reports what has changed. With last, the decisions that were lost are reported at once.
func (r *logReporter) look(s decisionlog.Stats, now time.Time, last bool) {
	goesOn := r.stopped && !s.Stopped
	switch {
	case s.Stopped && !r.stopped:
		r.log.Error("the decision log has stopped: nothing can be written", "error", s.LastError)
	case goesOn:
		r.log.Info("the decision log goes on")
	}
	r.stopped = s.Stopped
	if lost := s.Dropped - r.dropped; lost > 0 && (last || goesOn || now.Sub(r.told) >= lostEvery) {
		r.log.Error("decisions were lost: they are not in the decision log", "decisions", lost, "error", s.LastError)
		r.dropped, r.told = s.Dropped, now
	}
}
