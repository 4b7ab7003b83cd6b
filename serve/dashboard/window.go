package dashboard

import (
	"math"
	"math/bits"
	"time"
)

// window is a sliding window over time: a ring of slots, each for one span. An old slot is cleared when it is used again.
// It is not safe for concurrent use.
type window[T any] struct {
	span  time.Duration
	slots []slot[T]
	clear func(*T) // empties a slot, and may keep its memory
}

// slot has the values of one span. Spans are numbered from 1; 0 is a slot that was never used.
type slot[T any] struct {
	number int64
	value  T
}

func newWindow[T any](span time.Duration, slots int, clear func(*T)) window[T] {
	return window[T]{span: span, slots: make([]slot[T], slots), clear: clear}
}

// number returns the number of the span that contains a time.
func (w *window[T]) number(now time.Duration) int64 { return 1 + int64(now/w.span) }

// at returns the slot of the current span. now is the time since the start of the clock, and must not go back.
func (w *window[T]) at(now time.Duration) *T {
	number := w.number(now)
	s := &w.slots[number%int64(len(w.slots))]
	if s.number != number {
		if s.number != 0 {
			w.clear(&s.value)
		}
		s.number = number
	}
	return &s.value
}

// last calls do for the used slots of the last n spans, the oldest first. The current span has the age 0.
func (w *window[T]) last(now time.Duration, n int, do func(age int, v *T)) {
	number := w.number(now)
	for age := min(n, len(w.slots)) - 1; age >= 0; age-- {
		if k := number - int64(age); k > 0 {
			if s := &w.slots[k%int64(len(w.slots))]; s.number == k {
				do(age, &s.value)
			}
		}
	}
}

// A histogram counts durations from a microsecond to over an hour. The width of a bucket is an eighth of its lower end, so
// quantiles are within 6% of the true values.
type histogram struct {
	n      int64
	sum    float64 // microseconds
	counts [histogramBuckets]uint32
}

const (
	octaveBits       = 3 // eight buckets from each power of two to the next
	histogramBuckets = 32 << octaveBits
)

// bucket returns the index of the bucket for a number of microseconds.
func bucket(micros int64) int {
	v := uint64(max(micros, 0))
	if v < 1<<octaveBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - octaveBits
	return min((shift<<octaveBits)+int(v>>shift), histogramBuckets-1)
}

// lower returns the smallest number of microseconds in a bucket.
func lower(bucket int) float64 {
	if bucket < 1<<octaveBits {
		return float64(bucket)
	}
	shift := bucket>>octaveBits - 1
	return math.Ldexp(float64(bucket-shift<<octaveBits), shift)
}

func (h *histogram) add(micros int64) {
	h.n++
	h.sum += float64(micros)
	h.counts[bucket(micros)]++
}

func (h *histogram) merge(o *histogram) {
	h.n += o.n
	h.sum += o.sum
	for i, c := range o.counts {
		h.counts[i] += c
	}
}

// quantile returns the q-th quantile in microseconds, for q from 0 to 1; NaN without values.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := q * float64(h.n)
	var below float64
	for i, c := range h.counts {
		if c == 0 {
			continue
		}
		if below+float64(c) >= rank {
			within := (rank - below) / float64(c)
			return lower(i) + within*(lower(i+1)-lower(i))
		}
		below += float64(c)
	}
	return lower(histogramBuckets)
}

// moments are the sums for a mean and its interval.
type moments struct {
	n           int64
	sum, square float64
}

// maxFigure bounds the added values, so that sums and squares stay finite.
const maxFigure = 1e100

// add adds a value. Values that cannot be a cost or a fee are ignored.
func (m *moments) add(v float64) {
	if !(math.Abs(v) <= maxFigure) {
		return
	}
	m.n++
	m.sum += v
	m.square += v * v
}

func (m *moments) merge(o moments) {
	m.n += o.n
	m.sum += o.sum
	m.square += o.square
}

// mean returns the mean; NaN without values.
func (m moments) mean() float64 { return m.sum / float64(m.n) }

// effective returns the effective number of rows if the values are weights; 0 without values.
func (m moments) effective() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum * m.sum / m.square
}

// error returns the standard error of the mean, for at least two values.
func (m moments) error() float64 {
	n := float64(m.n)
	return math.Sqrt(max(0, (m.square-m.sum*m.sum/n)/(n-1)) / n)
}
