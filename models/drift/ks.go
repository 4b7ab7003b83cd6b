package drift

import (
	"math"
	"slices"
)

// Sample is a baseline sample of one feature: its distinct values, ascending, and how often each occurs.
type Sample struct {
	values []float32
	counts []int64
	n      int64
	// To find a value, the range is divided into parts of equal width: start[i] is the first value in part i or a later one.
	start []int32
	width float64 // parts per unit
}

// NewSample sorts values, which must be finite. It keeps no reference to them.
func NewSample(values []float32) *Sample {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	s := &Sample{n: int64(len(sorted))}
	for i, v := range sorted {
		if i == 0 || v != sorted[i-1] {
			s.values, s.counts = append(s.values, v), append(s.counts, 0)
		}
		s.counts[len(s.counts)-1]++
	}
	s.divide()
	return s
}

// divide makes the parts, two for every value.
func (s *Sample) divide() {
	n := len(s.values)
	if n == 0 {
		return
	}
	parts := 2 * n
	if low, high := float64(s.values[0]), float64(s.values[n-1]); high > low {
		s.width = float64(parts) / (high - low)
	}
	s.start = make([]int32, parts+1)
	at := 0
	for i := range s.start {
		for at < n && s.part(s.values[at], parts) < i {
			at++
		}
		s.start[i] = int32(at)
	}
}

// part is the part that a value lies in. A larger value never lies in an earlier part, whatever is rounded.
func (s *Sample) part(v float32, parts int) int {
	at := (float64(v) - float64(s.values[0])) * s.width
	if !(at > 0) {
		return 0
	}
	if at >= float64(parts) {
		return parts - 1
	}
	return int(at)
}

// find is the number of values below v, and whether v is among the values.
func (s *Sample) find(v float32) (below int, found bool) {
	if len(s.values) == 0 {
		return 0, false
	}
	i := s.part(v, len(s.start)-1)
	below, last := int(s.start[i]), int(s.start[i+1])
	for below < last { // without the test for NaN of slices.BinarySearch, which takes half of the time
		if mid := (below + last) / 2; s.values[mid] < v {
			below = mid + 1
		} else {
			last = mid
		}
	}
	return below, below < len(s.values) && s.values[below] == v
}

// Len is the number of values.
func (s *Sample) Len() int { return int(s.n) }

// Distinct is the number of different values.
func (s *Sample) Distinct() int { return len(s.values) }

// Counts say where further values lie between those of a [Sample]. They are all that comparing the two needs: between two
// values of the sample its distribution function is flat, so the largest distance to that of the others is at an end.
type Counts struct {
	N int64 `json:"n"`
	// At[2*i+1] are equal to value i of the sample, At[2*i] lie below it and above value i-1; the last lie above all.
	At []int64 `json:"at"`
}

// NewCounts has counted nothing yet.
func (s *Sample) NewCounts() *Counts { return &Counts{At: make([]int64, 2*len(s.values)+1)} }

// Fits reports whether the counts are those of a sample with as many distinct values, and add up.
func (c *Counts) Fits(s *Sample) bool {
	if len(c.At) != 2*len(s.values)+1 {
		return false
	}
	sum := int64(0)
	for _, n := range c.At {
		if n < 0 || n > c.N-sum {
			return false
		}
		sum += n
	}
	return sum == c.N
}

// Count adds every stride-th value to the counts, from the first one: one column of rows.
func (s *Sample) Count(c *Counts, values []float32, stride int) {
	for i := 0; i < len(values); i += stride {
		at, found := s.find(values[i])
		if at *= 2; found {
			at++
		}
		c.At[at]++
		c.N++
	}
}

// Categories are the values of the sample as categories, with those that it does not have as one more: how often each
// occurs in the sample and among counted values.
func (s *Sample) Categories(c *Counts) (base, now []int64) {
	base, now = append(slices.Clone(s.counts), 0), make([]int64, len(s.counts)+1)
	for i, n := range c.At {
		if i%2 == 1 {
			now[i/2] = n
		} else {
			now[len(s.counts)] += n
		}
	}
	return base, now
}

// KSResult is the outcome of a two-sample Kolmogorov-Smirnov test.
type KSResult struct {
	D     float64 // largest distance of the two distribution functions
	P     float64
	Exact bool // P is exact; otherwise it is the limit for many values, see [Sample.KS]
}

// exactCells is the most cells of the exact computation, the product of the two numbers of values.
const exactCells = 1_000_000

// KS is the two-sided two-sample Kolmogorov-Smirnov test of the sample against counted values, for independent values of
// any distribution, also a discrete one.
//
// If the product of the two numbers of values is at most a million, P is the exact probability, over all ways to divide
// the pooled values, of a distance at least as large (Schröer and Trenkler 1995). Values of the sample that occur
// repeatedly are treated as ties, and so are counted values equal to them; counted values equal only to each other are
// treated as different, which makes P larger, if anything. Otherwise P is Kolmogorov's limit without correction, which is
// larger than the exact value: where P is above 1e-6, by at most a fifth if both have at least 400 values, and by at most a
// half if one has a hundred and the other ten thousand.
//
// If one has no values, P is 1.
func (s *Sample) KS(c *Counts) KSResult {
	if s.n == 0 || c.N == 0 {
		return KSResult{P: 1}
	}
	most := s.distance(c)
	d := float64(most) / (float64(s.n) * float64(c.N))
	if s.n <= exactCells/c.N {
		return KSResult{D: d, P: exactKS(s.ties(c), int(s.n), int(c.N), most), Exact: true}
	}
	n, m := float64(s.n), float64(c.N)
	return KSResult{D: d, P: kolmogorov(d * math.Sqrt(n*m/(n+m)))}
}

// distance is the largest distance of the distribution functions, times both numbers of values.
func (s *Sample) distance(c *Counts) (most int64) {
	base, now := int64(0), int64(0)
	look := func() { most = max(most, base*c.N-now*s.n, now*s.n-base*c.N) }
	for i := range s.values {
		now += c.At[2*i]
		look()
		base, now = base+s.counts[i], now+c.At[2*i+1]
		look()
	}
	return most
}

// ties marks, for every number of pooled values in ascending order, whether a tie ends there.
func (s *Sample) ties(c *Counts) []bool {
	ends := make([]bool, 1, s.n+c.N+1)
	alone := func(n int64) {
		for range n {
			ends = append(ends, true)
		}
	}
	for i := range s.values {
		alone(c.At[2*i])
		ends = append(ends, make([]bool, s.counts[i]+c.At[2*i+1])...)
		ends[len(ends)-1] = true
	}
	alone(c.At[2*len(s.values)])
	return ends
}

// exactKS is the probability that a random division of n+m pooled values has a distance of at least most/(n*m). It walks
// over the numbers of values of each side among the smallest i+j: out[j] is the probability that the way there, drawn at
// random, has been that far apart at the end of a tie. Every term is positive, so small probabilities are accurate.
func exactKS(ends []bool, n, m int, most int64) float64 {
	share := make([]float64, n+m+1)
	for k := 1; k <= n+m; k++ {
		share[k] = 1 / float64(k)
	}
	out := make([]float64, m+1)
	for i := range n + 1 {
		apart := int64(i) * int64(m)
		for j := range m + 1 {
			far := apart - int64(j)*int64(n)
			if ends[i+j] && (far >= most || -far >= most) {
				out[j] = 1
				continue
			}
			p := 0.0
			if i > 0 {
				p = out[j] * float64(i)
			}
			if j > 0 {
				p += out[j-1] * float64(j)
			}
			out[j] = p * share[i+j]
		}
	}
	return min(1, out[m])
}

// kolmogorov is the probability that the largest distance of a Brownian bridge from 0 exceeds t (Kolmogorov 1933), by the
// series that converges fast there.
func kolmogorov(t float64) float64 {
	if t < 1 {
		if t <= 0.04 {
			return 1
		}
		sum := 0.0
		for k := 1; k < 20; k += 2 {
			sum += math.Exp(-float64(k*k) * math.Pi * math.Pi / (8 * t * t))
		}
		return max(0, 1-math.Sqrt(2*math.Pi)/t*sum)
	}
	sum := 0.0
	for k := 1; k < 10; k++ {
		sum += math.Pow(-1, float64(k-1)) * math.Exp(-2*float64(k*k)*t*t)
	}
	return min(1, 2*sum)
}
