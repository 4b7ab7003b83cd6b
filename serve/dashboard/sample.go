package dashboard

import "time"

// sample is a ring of recent feature rows. While it is not full every row is kept, then one per sampleEvery: so the rows
// are of the last minute at least, and keeping them costs nothing under load.
type sample struct {
	dim, most int
	rows      []float32 // most x dim at most
	next      int
	last      time.Duration // when a row was added
}

const sampleEvery = 250 * time.Millisecond

// add keeps a copy of one row of features, if it is time for one; features may be nil.
func (s *sample) add(now time.Duration, features []float32) {
	if len(features) != s.dim || s.dim == 0 || s.most == 0 {
		return
	}
	if len(s.rows) < s.most*s.dim {
		s.rows, s.last = append(s.rows, features...), now
		return
	}
	if now-s.last < sampleEvery {
		return
	}
	copy(s.rows[s.next*s.dim:], features)
	s.next, s.last = (s.next+1)%s.most, now
}

// n is the number of rows.
func (s *sample) n() int {
	if s.dim == 0 {
		return 0
	}
	return len(s.rows) / s.dim
}
