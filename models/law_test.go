package models

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs/coststest"
)

// c_pi = D + sum_i w_i 1{pi != i} with D = sum c - (|Pi|-1) max c.
func TestMismatchIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := coststest.Draw(t, 1)
		c := tensor.Costs(nil, 0, 1)
		largest, sum := c[0], 0.0
		for _, v := range c {
			largest = math.Max(largest, v)
			sum += v
		}
		d := sum - float64(len(c)-1)*largest
		for pi := range c {
			total := d
			for i := range c {
				if i != pi {
					total += largest - c[i]
				}
			}
			if math.Abs(total-c[pi]) > 1e-12 {
				t.Fatalf("action %d of %v: identity gives %v", pi, c, total)
			}
		}
	})
}

// rowSummary is F(u, v) = min over q of u log(1+e^-q) + v log(1+e^q), reached
// at q = log(u/v): what the separated surrogate reduces an expert's row to.
func rowSummary(u, v float64) float64 {
	return u*math.Log((u+v)/u) + v*math.Log((u+v)/v)
}

func TestSeparatedSurrogateReversesTheComparison(t *testing.T) {
	good, bad := rowSummary(0.38, 1.08), rowSummary(0.50, 0.51)
	if math.Abs(good-0.8371) > 5e-5 || math.Abs(bad-0.7000) > 5e-5 {
		t.Fatalf("F(0.38, 1.08) = %.4f, F(0.50, 0.51) = %.4f; want 0.8371 and 0.7000", good, bad)
	}
	for _, c := range [][2]float64{{0.38, 1.08}, {0.50, 0.51}, {0.18, 0.55}} {
		best := math.Inf(1)
		for q := -12.0; q <= 12; q += 1e-4 {
			best = math.Min(best, c[0]*math.Log1p(math.Exp(-q))+c[1]*math.Log1p(math.Exp(q)))
		}
		if math.Abs(best-rowSummary(c[0], c[1])) > 1e-7 {
			t.Errorf("F(%v, %v) = %v, minimum found %v", c[0], c[1], rowSummary(c[0], c[1]), best)
		}
	}
}
