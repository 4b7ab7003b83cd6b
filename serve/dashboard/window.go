package dashboard

import (
	"math"
	"math/bits"
	"time"
)

// window is a sliding window over time: a ring of slots, each of one span. Slots that time has left are cleared when the
// ring comes to them again. It is not safe for concurrent use.
type window[T any] struct {
	span  time.Duration
	slots []slot[T]
	clear func(*T) // makes a used slot empty again, and may keep its memory
}

// slot is the values of one span. number counts spans from the start of the clock; 0 is a slot that was never used, so
// the first span has the number 1.
type slot[T any] struct {
	number int64
	value  T
}

func newWindow[T any](span time.Duration, slots int, clear func(*T)) window[T] {
	return window[T]{span: span, slots: make([]slot[T], slots), clear: clear}
}

// number is the number of the span that the time is in.
func (w *window[T]) number(now time.Duration) int64 { return 1 + int64(now/w.span) }

// at is the slot of the present. now is the time since the start of the clock and must not go back.
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

// last calls do for the slots of the last n spans that hold something, the oldest first; age 0 is the present span.
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

// A histogram counts durations in buckets whose width is an eighth of their lower end, from a microsecond to over an
// hour. Quantiles are therefore within 6% of the truth.
type histogram struct {
	n      int64
	sum    float64 // microseconds
	counts [histogramBuckets]uint32
}

const (
	octaveBits       = 3 // eight buckets from each power of two to the next
	histogramBuckets = 32 << octaveBits
)

// bucket is the number of the bucket of some microseconds.
func bucket(micros int64) int {
	v := uint64(max(micros, 0))
	if v < 1<<octaveBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - octaveBits
	return min((shift<<octaveBits)+int(v>>shift), histogramBuckets-1)
}

// lower is the smallest number of microseconds of a bucket.
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

// quantile is the q-th quantile in microseconds, between 0 and 1; NaN of nothing.
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

// moments are what a mean and its interval are computed from.
type moments struct {
	n           int64
	sum, square float64
}

// mostFigure bounds what is added, so that sums and their squares stay finite whatever comes.
const mostFigure = 1e100

// add leaves out what no cost or fee can be.
func (m *moments) add(v float64) {
	if !(math.Abs(v) <= mostFigure) {
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

// mean is NaN of nothing.
func (m moments) mean() float64 { return m.sum / float64(m.n) }

// effective is the number of rows of equal weight that say as much about a mean as rows with these weights; 0 of nothing.
func (m moments) effective() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum * m.sum / m.square
}

// half is half the width of the 95% interval of the mean, by the normal approximation, of at least two values.
func (m moments) half() float64 {
	n := float64(m.n)
	variance := max(0, (m.square-m.sum*m.sum/n)/(n-1))
	const normal975 = 1.959963984540054
	return normal975 * math.Sqrt(variance/n)
}
