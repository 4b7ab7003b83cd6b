package serve

import (
	"context"
	"log/slog"
	"time"

	"pipe/pipeline/decisionlog"
)

// logCheckInterval is how often the state of the decision log is checked. lostInterval is how often lost decisions are
// reported while more are lost.
const (
	logCheckInterval = time.Second
	lostInterval     = time.Minute
)

// watchLog reports changes of the state of the decision log, until ctx ends.
func (s *Server) watchLog(ctx context.Context) {
	if s.parts.log == nil {
		return
	}
	r := &logReporter{log: s.log}
	tick := time.NewTicker(logCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.report(s.parts.log.Stats(), time.Now(), true)
			return
		case now := <-tick.C:
			r.report(s.parts.log.Stats(), now, false)
		}
	}
}

// logReporter reports to the server's log when the decision log stops or resumes, and how many decisions were lost.
type logReporter struct {
	log           *slog.Logger
	stopped       bool
	reportedDrops int64     // decisions that were reported as lost
	reported      time.Time // when they were
}

// report reports what has changed. With last, lost decisions are reported at once.
func (r *logReporter) report(s decisionlog.Stats, now time.Time, last bool) {
	resumed := r.stopped && !s.Stopped
	switch {
	case s.Stopped && !r.stopped:
		r.log.Error("the decision log has stopped: nothing can be written", "error", s.LastError)
	case resumed:
		r.log.Info("the decision log goes on")
	}
	r.stopped = s.Stopped
	if lost := s.Dropped - r.reportedDrops; lost > 0 && (last || resumed || now.Sub(r.reported) >= lostInterval) {
		r.log.Error("decisions were lost: they are not in the decision log", "decisions", lost, "error", s.LastError)
		r.reportedDrops, r.reported = s.Dropped, now
	}
}
