package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
)

// calibrationActions are four pairs, of which the third does not exist.
func calibrationActions() *costs.Actions {
	return &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "help"}},
		Unavailable: []costs.Pair{{Expert: 1, Advice: 0}},
	}
}

// Estimates that are true have no error; those that are all too high by the same number have that error, in all bins and
// pairs; the order of points does not matter.
func TestCalibrationErrorOfShiftedEstimates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.Float64Range(-1, 1).Draw(t, "shift")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var points []CalibrationPoint
		for n := range rapid.IntRange(1, 200).Draw(t, "rows") {
			for _, i := range []int{0, 1, 3} {
				loss := rng.Float64()
				points = append(points, CalibrationPoint{Estimate: loss + shift, Loss: loss, Pair: i, Row: n})
			}
		}
		c, of := MeasureCalibration(points, calibrationActions())
		if math.Abs(c.Error-math.Abs(shift)) > 1e-9 {
			t.Fatalf("error %g with estimates that are too high by %g", c.Error, shift)
		}
		count, last := 0, math.Inf(-1)
		for _, b := range c.Bins {
			if b.Estimate < last || math.Abs(b.Estimate-b.Loss-shift) > 1e-9 || b.Count < len(points)/CalibrationBins || b.Count > len(points)/CalibrationBins+1 {
				t.Fatalf("bin %+v after %g, of %d points", b, last, len(points))
			}
			last, count = b.Estimate, count+b.Count
		}
		if count != len(points) {
			t.Fatalf("%d of %d points are in bins", count, len(points))
		}
		var names []string
		for i, p := range c.Pairs {
			names = append(names, p.Pair)
			if math.Abs(p.Error-math.Abs(shift)) > 1e-9 || math.Abs(p.Estimate-p.Loss-shift) > 1e-9 || len(of[i]) != len(points)/3 {
				t.Fatalf("pair %+v of %d points", p, len(of[i]))
			}
		}
		if !slices.Equal(names, []string{"a/none", "a/help", "b/help"}) {
			t.Fatalf("pairs %q", names)
		}
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		if again := CalibrationError(Reliability(points, CalibrationBins)); math.Abs(again-c.Error) > 1e-9 {
			t.Fatalf("error %g in another order, %g before", again, c.Error)
		}
	})
}

// The error of means that are true falls to 0 with more rows, and one estimate for all is not enough to be wrong per pair.
func TestCalibrationErrorOfTrueMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var points, constant []CalibrationPoint
	for n := range 60000 {
		mean, loss := rng.Float64(), 0.0
		if rng.Float64() < mean {
			loss = 1
		}
		pair := n % 2
		points = append(points, CalibrationPoint{Estimate: mean, Loss: loss, Pair: pair, Row: n})
		constant = append(constant, CalibrationPoint{Estimate: 0.5, Loss: float64(pair), Pair: pair, Row: n})
	}
	if c, _ := MeasureCalibration(points, calibrationActions()); c.Error > 0.01 || c.Pairs[0].Error > 0.015 {
		t.Errorf("error %g, of the first pair %g", c.Error, c.Pairs[0].Error)
	}
	if c, _ := MeasureCalibration(constant, calibrationActions()); c.Error > 1e-4 || math.Abs(c.Pairs[0].Error-0.5) > 1e-9 || math.Abs(c.Pairs[1].Error-0.5) > 1e-9 {
		t.Errorf("error %g, of pairs %g and %g", c.Error, c.Pairs[0].Error, c.Pairs[1].Error)
	}
	if c, of := MeasureCalibration(nil, calibrationActions()); c.Error != 0 || c.Bins != nil || of != nil {
		t.Errorf("%+v of no points", c)
	}
}
