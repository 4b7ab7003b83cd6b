package auto

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pipe/models/policy"
)

// TestCurveDoesNotDependOnTheUnit: losses in another unit give the same curve in that unit. Factors are powers of two,
// so that nothing is rounded.
func TestCurveDoesNotDependOnTheUnit(t *testing.T) {
	in := func(unit float64) []policy.CalibrationPoint {
		rng := rand.New(rand.NewPCG(1, 2))
		out := make([]policy.CalibrationPoint, 2000)
		for i := range out {
			x, y := float64(i)/2000, 0.0
			if rng.Float64() < x*x {
				y = 1
			}
			out[i] = policy.CalibrationPoint{Estimate: unit * x, Loss: unit * y, Row: i}
		}
		return out
	}
	want := fitCurve(in(1), alike)
	if len(want.X) < 5 {
		t.Fatalf("a curve through %d points", len(want.X))
	}
	for _, unit := range []float64{1.0 / (1 << 30), 1 << 30} {
		got := fitCurve(in(unit), alike)
		if err := got.Check(); err != nil {
			t.Error(err)
		}
		for _, v := range [][]float64{got.X, got.Y} {
			for i := range v {
				v[i] /= unit
			}
		}
		if !slices.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) {
			t.Errorf("in units of %g: %v\nwant %v", unit, got, want)
		}
	}
}

func alike(int) float64 { return 1 }
