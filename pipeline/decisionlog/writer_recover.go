package decisionlog

import (
	"os"
)

// recover finds the segments of earlier runs. Lines without a Parquet file become one later; their torn end is counted.
func (s *stream) recover() error {
	list, err := listSegments(s.folder, s.name)
	if err != nil {
		return err
	}
	s.next = 1
	for _, at := range list {
		s.next = at.number + 1
		switch {
		case at.parquet:
			if at.lines { // the run ended between the Parquet file and this
				if err := os.Remove(at.path(linesEnding)); err != nil {
					return err
				}
			}
			sp, err := at.index()
			if err != nil {
				return err
			}
			s.closed = append(s.closed, &closedSegment{at, sp})
		case at.lines:
			sp, d, err := spanOf(at)
			if err != nil {
				return err
			}
			s.damage.add(d)
			s.sealed = append(s.sealed, &closedSegment{at, sp})
		default: // an index alone
			if err := os.Remove(at.path(indexEnding)); err != nil {
				return err
			}
		}
	}
	return nil
}

// index reads the index of a Parquet segment, and makes it if it is missing or damaged.
func (s *segment) index() (*span, error) {
	if sp, err := s.readIndex(); err == nil {
		return sp, nil
	}
	sp, err := spanOfParquet(s)
	if err != nil {
		return nil, err
	}
	if err := s.writeIndex(sp); err != nil {
		return nil, err
	}
	sp.Hashes = nil
	return sp, nil
}

// count counts the segments, and those that are not yet Parquet.
func (s *stream) count() (all, unfinished int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = len(s.closed) + len(s.sealed)
	if s.file != nil {
		all++
	}
	return all, len(s.sealed)
}
