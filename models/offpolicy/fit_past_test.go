package offpolicy

import (
	"math"
	"slices"
	"testing"
)

// Estimates of the past know nothing of later rows, and are better than one number for all.
func TestFitCostsOfPast(t *testing.T) {
	w := world{users: 600, requests: 1, logged: exploring(0.6)}
	l, x := w.draw(3)
	s := DefaultFitSettings(Estimator{})
	whole, first, err := FitCostsOfPast(t.Context(), l, x, s)
	if err != nil || first != leastPast {
		t.Fatal(first, err)
	}
	const until = 300
	other := Features{slices.Clone(x.Values), x.Dim}
	for i := until; i < l.Len(); i++ {
		l.Cost[i] = 5
		other.Values[2*i] *= 3
	}
	changed, _, err := FitCostsOfPast(t.Context(), l, other, s)
	if err != nil || !slices.Equal(whole[:until*worldPairs], changed[:until*worldPairs]) || slices.Equal(whole, changed) {
		t.Error("later rows change earlier estimates, or nothing changes", err)
	}
	off, spread := 0.0, 0.0
	for i := 400; i < l.Len(); i++ {
		for a := range worldPairs {
			c := expected(a, math.Atan2(float64(x.Values[2*i]), float64(x.Values[2*i+1]))/2) // of period pi, as what is expected
			off += math.Abs(whole[i*worldPairs+a] - c)
			spread += math.Abs(0.5 - c)
		}
	}
	if !(off < 0.7*spread) {
		t.Errorf("estimates are off by %v, and 0.5 by %v", off, spread)
	}
	if _, first, err := FitCostsOfPast(t.Context(), &Log{Pairs: 1, Executed: []int{0}, Cost: []float64{1}, Logged: []float64{1}, Target: []float64{1}}, Features{[]float32{1}, 1}, s); first != 1 || err != nil {
		t.Error(first, err)
	}
	if _, _, err := FitCostsOfPast(t.Context(), l, x, FitSettings{}); err == nil {
		t.Error("no family was accepted")
	}
}
