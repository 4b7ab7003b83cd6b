package decisionlog

import (
	"errors"
	"os"
	"slices"
	"time"
)

// convertPause is how long the writer waits after a segment could not become Parquet: each try reads all of it.
const convertPause = 10 * time.Second

// convertAll turns closed segments into Parquet, and removes old ones, until the writer is closed.
func (w *Writer) convertAll() {
	var next time.Time
	for {
		select {
		case <-w.done:
			return
		case <-w.convert:
			if time.Now().Before(next) {
				continue
			}
			err := errors.Join(w.records.finish(), w.outcomes.finish(), w.retain())
			if w.count(err); err != nil {
				next = time.Now().Add(convertPause)
			}
		}
	}
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
		if err := c.writeIndex(c.span); err != nil {
			return err
		}
		if err := writeParquet(c.segment); err != nil {
			return err
		}
	}
	return os.Remove(c.path(linesEnding))
}
