package decision

import (
	"math"
	"testing"

	"pipe/costs"
	"pipe/models/policy"
)

// TestFixedPairWithUsage: the best fixed pair has the smallest mean loss plus mean fee at the prices of usage. Before any traffic,
// usage is that of the training, and what is not known has no cost.
func TestFixedPairWithUsage(t *testing.T) {
	nan := float32(math.NaN())
	info := &policy.Info{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}},
		Fixed:   0, Usage: &policy.UsageInfo{Quantities: []costs.Quantity{costs.TokensOut}, Mean: costs.Usage{costs.TokensOut: {1000, nan}}},
	}
	f := newFixedPair(info)
	at := policy.PricesOf(info.Actions, 1)
	at.Usage[costs.TokensOut] = []float64{100, 100}
	if c := f.costs(at); c[0] != 0.1 || c[1] == c[1] {
		t.Errorf("costs %v before any traffic", c)
	}
	loss, used := make([]float32, 2*minRows), &costs.Usage{costs.TokensOut: make([]float32, 2*minRows)}
	for n := range minRows {
		loss[2*n], loss[2*n+1] = 0.5, 0.25
		used[costs.TokensOut][2*n], used[costs.TokensOut][2*n+1] = 1000, 4000
	}
	f.add(loss, used)
	if best, c := f.best(at), f.costs(at); best != 0 || math.Abs(c[0]-0.6) > 1e-6 || math.Abs(c[1]-0.65) > 1e-6 {
		t.Errorf("the best fixed pair is %d, costs %v", best, c)
	}
	at.Usage[costs.TokensOut] = []float64{50, 50}
	if best := f.best(at); best != 1 {
		t.Errorf("the best fixed pair at half the prices is %d", best)
	}
}
