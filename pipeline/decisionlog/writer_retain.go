package decisionlog

import (
	"errors"
	"os"
	"time"
)

// retain removes the oldest segments that are Parquet, as far as the settings bound the log, and the outcomes of decisions
// that are gone.
func (w *Writer) retain() error {
	if w.settings.KeepAge == 0 && w.settings.KeepBytes == 0 {
		return nil
	}
	removed, err := w.records.removeWhile(w.tooOld, w.settings.KeepBytes)
	w.counts(func(s *Stats) { s.Removed += int64(removed) })
	if first, ok := w.records.firstID(); ok && err == nil {
		var more int
		more, err = w.outcomes.removeWhile(func(sp *span) bool { return sp.MaxID < first }, 0)
		w.counts(func(s *Stats) { s.Removed += int64(more) })
	}
	return err
}

// tooOld reports whether all records of a segment are older than the settings keep. They are if two clocks say so: the
// machine's, and its time at the start of the writer plus what has passed since. So nothing is removed because the clock
// jumps ahead, or was ahead at the start and was set back.
func (w *Writer) tooOld(sp *span) bool {
	last := time.UnixMicro(sp.Last)
	counted := w.start.Round(0).Add(time.Since(w.start))
	age := min(counted.Sub(last), time.Now().Round(0).Sub(last))
	return w.settings.KeepAge > 0 && age > w.settings.KeepAge
}

// removeWhile removes closed segments, oldest first, while old says so or all of them have more than most bytes (0: any).
func (s *stream) removeWhile(old func(*span) bool, most int64) (removed int, err error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	total := int64(0)
	sizes := make([]int64, len(closed))
	for i, c := range closed {
		for _, ending := range []string{parquetEnding, indexEnding} {
			if info, err := os.Stat(c.path(ending)); err == nil {
				sizes[i] += info.Size()
			}
		}
		total += sizes[i]
	}
	for removed < len(closed) && (old(closed[removed].span) || most > 0 && total > most) {
		if err = closed[removed].remove(); err != nil {
			break
		}
		total -= sizes[removed]
		removed++
	}
	s.mu.Lock()
	s.closed = s.closed[removed:]
	s.mu.Unlock()
	return removed, err
}

// remove removes the files of a segment. The Parquet file goes first, because an index without it is ignored.
func (s *segment) remove() error {
	err := os.Remove(s.path(parquetEnding))
	if again := os.Remove(s.path(indexEnding)); again != nil && !gone(again) {
		err = errors.Join(err, again)
	}
	return err
}

// firstID is the smallest id of the decisions in the log; ok is false if there are none.
func (s *stream) firstID() (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	use := func(sp *span) {
		if sp.Rows > 0 && (!ok || sp.MinID < id) {
			id, ok = sp.MinID, true
		}
	}
	for _, list := range [][]*closedSegment{s.closed, s.sealed} {
		for _, c := range list {
			use(c.span)
		}
	}
	if s.file != nil {
		use(s.span)
	}
	return id, ok
}
