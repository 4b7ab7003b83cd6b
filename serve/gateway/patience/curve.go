package patience

import (
	"math"
	"time"
)

// The bins of a curve: bin k has the times from 2^(k/8) to 2^((k+1)/8) milliseconds. So a time is known to 9%.
const (
	perOctave = 8
	binCount  = 216 // up to 37 hours; longer times are in the last bin
)

// curve is the distribution of times until an answer, of which some are only known to be at least so long: the call was cut,
// or its caller left. It is the estimate of Kaplan and Meier (1958, doi:10.1080/01621459.1958.10501452) on bins, with the
// actuarial correction: a time that was not seen to its end counts half in its own bin. Old times fade.
type curve struct {
	ended [binCount]float64 // weight of the answers
	open  [binCount]float64 // weight of the times that were not seen to their end
	n     int               // answers ever, without fading
}

// binOf is the bin of a time.
func binOf(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	return min(max(int(math.Floor(perOctave*math.Log2(max(ms, 1)))), 0), binCount-1)
}

// ends are the ends of the bins.
var ends = func() (d [binCount]time.Duration) {
	for k := range d {
		d[k] = time.Duration(math.Exp2(float64(k+1)/perOctave) * float64(time.Millisecond))
	}
	return d
}()

// answered adds the time of an answer. keep is the factor by which all earlier times fade.
func (c *curve) answered(d time.Duration, keep float64) {
	for k := range c.ended {
		c.ended[k] *= keep
		c.open[k] *= keep
	}
	c.ended[binOf(d)]++
	c.n++
}

// atLeast adds a time that was not seen to its end. Nothing fades, so that an outage does not wipe out what is known.
func (c *curve) atLeast(d time.Duration) { c.open[binOf(d)]++ }

// survival returns for each bin the probability of a time beyond its end, and the last bin that has a time, -1 for none.
func (c *curve) survival() (s [binCount]float64, last int) {
	last = binCount - 1
	for last >= 0 && c.ended[last] == 0 && c.open[last] == 0 {
		last--
	}
	var hazard [binCount]float64
	risk := 0.0 // weight of the times that reach the bin
	for k := last; k >= 0; k-- {
		risk += c.ended[k] + c.open[k]
		if at := risk - c.open[k]/2; at > 0 {
			hazard[k] = c.ended[k] / at
		}
	}
	left := 1.0
	for k := range s {
		left *= 1 - min(hazard[k], 1)
		s[k] = left
	}
	return s, last
}

// quantile returns the time within which a share of the answers comes, rounded up to the end of its bin. Where so many times
// were not seen to their end that it is longer than all of them, it returns the longest one. 0: no times.
func (c *curve) quantile(share float64) time.Duration {
	s, last := c.survival()
	for k := range last + 1 {
		if s[k] <= 1-share {
			return ends[k]
		}
	}
	if last < 0 {
		return 0
	}
	return ends[last]
}

// beyond is the mean time by which answers are later than d. What was never seen to its end counts as the longest time.
func (c *curve) beyond(d time.Duration) time.Duration {
	s, last := c.survival()
	sum, before, half := 0.0, 1.0, math.Exp2(-0.5/perOctave)
	for k := range last + 1 {
		mid := float64(ends[k]) * half
		sum += (before - s[k]) * max(0, mid-float64(d))
		before = s[k]
	}
	if last >= 0 {
		sum += before * max(0, float64(ends[last]-d))
	}
	return time.Duration(sum)
}

// hazards are the cumulative hazards at the ends of the bins: minus the logarithm of the survival. Beyond the longest time it
// stays at what so many answers can show.
func (c *curve) hazards() (h [binCount]float64) {
	s, _ := c.survival()
	weight := 1.0
	for k := range c.ended {
		weight += c.ended[k] + c.open[k]
	}
	for k := range h {
		h[k] = -math.Log(max(s[k], 1/(2*weight)))
	}
	return h
}

// hazardAt is the cumulative hazard at a time, rounded down to a bin.
func hazardAt(h *[binCount]float64, d time.Duration) float64 {
	if k := binOf(d); d > 0 && k > 0 {
		return h[k-1]
	}
	return 0
}
