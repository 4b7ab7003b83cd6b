package costs

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
)

// Clusters joins those of the given rows that have the same group, or the same features, value by value. Where losses
// show that rows with the same features are different instances ([Ties]), only those of them that losses show to be copies
// are joined.
func (t *Tensor) Clusters(rows []int) Clusters { return t.Together(rows, nil) }

// Together is Clusters for a caller who may know whether rows with the same features are different instances (apart): then
// only those of one group are joined, and else all with the same features or the same group, whatever their losses. If apart
// is nil, losses tell.
func (t *Tensor) Together(rows []int, apart *bool) Clusters { return t.evidence(rows).clusters(apart) }

// Ties looks at the losses of those of the given rows that have equal features.
func (t *Tensor) Ties(rows []int) Ties { return t.evidence(rows).ties() }

// Shared counts the rows that are copies of a row of the list with, as [Tensor.Together] takes rows for copies, and the rows
// whose group occurs in that list.
func (t *Tensor) Shared(rows, with []int, apart *bool) (copies, group int) {
	e := t.evidence(slices.Concat(with, rows))
	count := func(first []int) (n int) { // rows whose first equal is in the list
		for _, f := range first[len(with):] {
			if f < len(with) {
				n++
			}
		}
		return n
	}
	copies = count(e.copies(apart))
	if e.groups != nil {
		group = count(firstEqual(e.groups))
	}
	return copies, group
}

func (t *Tensor) evidence(rows []int) evidence {
	e := evidence{same: t.sameFeatures(rows), losses: func(m int) []float32 { return t.Losses(rows[m]) }}
	if t.Groups != nil {
		e.groups = pick(t.Groups, rows, 1)
	}
	return e
}

// sameFeatures returns for every row the first one with the same features. Rows are found by a hash and then compared.
func (t *Tensor) sameFeatures(rows []int) []int {
	first := make([]int, len(rows))
	h := newRowHash() // decides which rows are compared, not the outcome
	last := make(map[uint64]int, len(rows))
	before := make([]int, len(rows)) // an earlier row with the same hash, or -1
	for m, n := range rows {
		sum := h.of(t.Row(n))
		other, seen := last[sum]
		if !seen {
			other = -1
		}
		before[m] = other
		for other >= 0 && !slices.Equal(t.Row(rows[other]), t.Row(n)) {
			other = before[other]
		}
		if first[m] = m; other >= 0 {
			first[m] = first[other]
			continue // the chain has these features already
		}
		last[sum] = m
	}
	return first
}

// Seen is what says which rows belong together, for a caller that reads a tensor in batches and does not keep the
// features: of these it has a hash.
type Seen struct {
	hash     *rowHash
	features []uint64
	pairs    int
	losses   []float32
	groups   []string
}

// NewSeen has seen no row yet.
func NewSeen() *Seen { return &Seen{hash: newRowHash()} }

// Add adds the rows of a batch. All batches are of one tensor.
func (s *Seen) Add(t *Tensor) {
	s.pairs = t.Actions.Len()
	for n := range t.Len() {
		s.features = append(s.features, s.hash.of(t.Row(n)))
	}
	s.losses, s.groups = append(s.losses, t.Loss...), append(s.groups, t.Groups...)
}

// Clusters are those of [Tensor.Clusters]. Rows are numbered from 0 in the order in which they were added.
func (s *Seen) Clusters(rows []int) Clusters {
	e := evidence{same: firstEqual(pick(s.features, rows, 1)), losses: func(m int) []float32 { return s.losses[rows[m]*s.pairs:][:s.pairs] }}
	if s.groups != nil {
		e.groups = pick(s.groups, rows, 1)
	}
	return e.clusters(nil)
}

// firstEqual returns for every key the position of the first one that is equal.
func firstEqual[K comparable](keys []K) []int {
	out, known := make([]int, len(keys)), make(map[K]int, len(keys))
	for n, k := range keys {
		first, ok := known[k]
		if !ok {
			first = n
			known[k] = n
		}
		out[n] = first
	}
	return out
}

// rowHash hashes rows of numbers, so that equal rows have equal hashes.
type rowHash struct {
	seed maphash.Seed
	buf  []byte
}

func newRowHash() *rowHash { return &rowHash{seed: maphash.MakeSeed()} }

// of takes -0 for 0, and all NaN for equal.
func (h *rowHash) of(row []float32) uint64 {
	h.buf = h.buf[:0]
	for _, v := range row {
		switch {
		case v == 0:
			v = 0
		case v != v:
			v = float32(math.NaN())
		}
		h.buf = binary.LittleEndian.AppendUint32(h.buf, math.Float32bits(v))
	}
	return maphash.Bytes(h.seed, h.buf)
}
