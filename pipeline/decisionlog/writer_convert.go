package decisionlog

import (
	"errors"
	"os"
	"slices"
	"time"
)

// convertPause is how long the writer waits after a segment could not become Parquet: each try reads all of it.
const convertPause = 10 * time.Second

// While records come at more than busyRate per second, the conversion waits, so that the processor is left to the requests:
// until waitingSegments of them wait, or the oldest one has waited for longestWait.
const (
	busyRate        = 1000
	waitingSegments = 4
	longestWait     = time.Minute
)

// convertAll turns closed segments into Parquet, and removes old ones, until the writer is closed.
func (w *Writer) convertAll() {
	var next time.Time
	var pace pace
	for {
		select {
		case <-w.done:
			return
		case <-w.convert:
			_, waiting := w.records.count()
			wait := pace.waits(time.Now(), w.written(), waiting) && w.settings.KeepBytes == 0 // which counts closed segments only
			if wait || time.Now().Before(next) {
				continue
			}
			err := errors.Join(w.records.finish(), w.outcomes.finish(), w.retain())
			if w.count(err); err != nil {
				next = time.Now().Add(convertPause)
			}
		}
	}
}

func (w *Writer) written() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats.Records
}

// pace decides when segments become Parquet.
type pace struct {
	last    time.Time // of the last call
	records int64     // written until then
	since   time.Time // when segments began to wait; zero if none did
}

// waits reports whether the segments that wait do so longer. It is called every half of a flush interval.
func (p *pace) waits(now time.Time, records int64, segments int) bool {
	rate := 0.0
	if passed := now.Sub(p.last).Seconds(); !p.last.IsZero() && passed > 0 {
		rate = float64(records-p.records) / passed
	}
	p.last, p.records = now, records
	if segments > 0 && p.since.IsZero() {
		p.since = now
	}
	if segments > 0 && segments < waitingSegments && rate > busyRate && now.Sub(p.since) < longestWait {
		return true
	}
	p.since = time.Time{}
	return false
}

// finish turns the closed segments of lines into Parquet. A segment for which that fails stays, and is tried again.
func (s *stream) finish() error {
	s.mu.Lock()
	waiting := slices.Clone(s.sealed)
	s.mu.Unlock()
	var all []error
	for _, c := range waiting {
		if err := c.finish(); err != nil {
			all = append(all, err)
			continue
		}
		s.mu.Lock()
		s.sealed = slices.DeleteFunc(s.sealed, func(x *closedSegment) bool { return x == c })
		if c.span.Rows > 0 {
			s.closed = append(s.closed, &closedSegment{
				&segment{folder: c.folder, stream: c.stream, number: c.number, parquet: true},
				&span{Rows: c.span.Rows, MinID: c.span.MinID, MaxID: c.span.MaxID, First: c.span.First, Last: c.span.Last},
			})
			slices.SortFunc(s.closed, func(a, b *closedSegment) int { return a.number - b.number })
		}
		s.mu.Unlock()
	}
	return errors.Join(all...)
}

// finish turns one segment of lines into Parquet: first the index, then the Parquet file, which counts from then on, then
// the lines go. After a kill between any two of these steps, the next run does the rest.
func (c *closedSegment) finish() error {
	if c.span.Rows > 0 {
		sp := *c.span
		repeats := c.stream == decisions && sp.repeats()
		if repeats {
			sp.Rows = len(sp.Hashes)
		}
		if err := c.writeIndex(&sp); err != nil {
			return err
		}
		if err := writeParquet(c.segment, repeats); err != nil {
			return err
		}
	}
	return os.Remove(c.path(linesEnding))
}
