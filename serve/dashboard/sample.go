package dashboard

import (
	"time"
)

// sample is a ring of recent rows of features. Until it is full it stores every row, and then at most one per sampleEvery, so
// that it costs little under load and its rows span a minute or more.
type sample struct {
	dim, most int
	rows      []float32 // most x dim at most
	next      int
	last      time.Duration // when a row was added
}

const sampleEvery = 250 * time.Millisecond

// add stores a copy of a row of features, if one is due. features may be nil.
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

// n returns the number of rows.
func (s *sample) n() int {
	if s.dim == 0 {
		return 0
	}
	return len(s.rows) / s.dim
}
