package patience

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func near(got, want time.Duration, by float64) bool {
	return math.Abs(float64(got)-float64(want)) <= by*float64(want)
}

// Quantiles and the mean lateness of a curve are those of the times.
func TestCurve(t *testing.T) {
	var c curve
	if c.quantile(0.5) != 0 || c.beyond(0) != 0 {
		t.Error("nothing is known")
	}
	for i := range 1000 {
		c.answered(time.Duration(i+1)*10*time.Millisecond, 1)
	}
	for share, want := range map[float64]time.Duration{0.5: 5 * time.Second, 0.95: 9500 * time.Millisecond, 0.99: 9900 * time.Millisecond} {
		if got := c.quantile(share); !near(got, want, 0.1) || got < want {
			t.Errorf("%g: %v, want %v", share, got, want)
		}
	}
	// The times are uniform up to 10 s, so the mean above d is (10 s - d)^2 / 20 s.
	for d, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 4 * time.Second: 1800 * time.Millisecond, 20 * time.Second: 0} {
		if got := c.beyond(d); !near(got, want, 0.05) {
			t.Errorf("after %v: %v, want %v", d, got, want)
		}
	}
	for _, d := range []time.Duration{-1, 0, 1, math.MaxInt64} {
		c.answered(d, 1)
		c.atLeast(d)
	}
	if c.n != 1004 {
		t.Error(c.n)
	}
}

// Times that were not seen to their end do not make the quantile shorter: with every call cut at 3 s, the curve below is that of
// all times, and above it is at least 3 s. The quantile of the answers alone would be far too short.
func TestCutTimesDoNotBias(t *testing.T) {
	r, cutAt := rand.New(rand.NewPCG(1, 2)), 3*time.Second
	var all, cut, answers curve
	for range 50_000 {
		d := time.Duration(float64(time.Second) * math.Exp(1.2*r.NormFloat64()))
		left := time.Duration(r.ExpFloat64() * 4 * float64(time.Second)) // when the caller would leave
		all.answered(d, 1)
		switch end := min(left, cutAt); {
		case d < end:
			cut.answered(d, 1)
			answers.answered(d, 1)
		default:
			cut.atLeast(end)
		}
	}
	for _, share := range []float64{0.25, 0.5, 0.75, 0.8} {
		if got, want := cut.quantile(share), all.quantile(share); !near(got, want, 0.1) {
			t.Errorf("%g: %v, want %v", share, got, want)
		}
	}
	if got := cut.quantile(0.99); got < cutAt {
		t.Errorf("the quantile beyond the cut is %v", got)
	}
	if got := answers.quantile(0.8); got > 2*time.Second {
		t.Errorf("the answers alone have %v: the test shows nothing", got)
	}
}

// Old times fade.
func TestFading(t *testing.T) {
	var c curve
	keep := math.Exp2(-1.0 / 100)
	for range 5000 {
		c.answered(time.Second, keep)
	}
	for range 300 {
		c.answered(4*time.Second, keep)
	}
	if got := c.quantile(0.5); got < 4*time.Second {
		t.Errorf("the median is %v after three half lives", got)
	}
}

// Hazards rise, and stay finite beyond the longest time.
func TestHazards(t *testing.T) {
	var c curve
	for range 100 {
		c.answered(time.Second, 1)
	}
	h, before := c.hazards(), 0.0
	for k := range h {
		if h[k] < before || h[k] > math.Log(2*101)+1e-9 {
			t.Fatalf("bin %d: %g after %g", k, h[k], before)
		}
		before = h[k]
	}
	if hazardAt(&h, -time.Second) != 0 || hazardAt(&h, 500*time.Millisecond) != 0 || hazardAt(&h, math.MaxInt64) != h[binCount-1] {
		t.Error("at an age")
	}
}
