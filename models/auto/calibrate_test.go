package auto

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pipe/models/policy"
	"pipe/models/regress"
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

// TestChosenPairsAreCalibrated: of many estimates the smallest is too small. The curve of the selection says by how much, for
// blocks of rows that did not fit it.
func TestChosenPairsAreCalibrated(t *testing.T) {
	const rows, pairs = 4000, 12
	rng := rand.New(rand.NewPCG(3, 4))
	j := &judge{t: &table{data: &regress.Data{Pairs: pairs, Mask: slices.Repeat([]bool{true}, pairs)}}, prices: []price{{fees: make([]float64, pairs)}}}
	var estimates []float32
	for n := range rows {
		j.t.held = append(j.t.held, n)
		hard := 3 * rng.NormFloat64() // of the row, which hides what is of pairs
		for range pairs {
			estimates = append(estimates, float32(0.5+0.1*rng.NormFloat64()))
			j.t.data.Y = append(j.t.data.Y, float32(0.5+hard))
		}
	}
	j.t.blocks = []span{{0, 1000}, {1000, 2000}, {2000, 3000}, {3000, rows}}
	behind := j.behind(estimates, 0)
	gap := func(p policy.CalibrationPoint) float64 { return float64(behind[p.Row*pairs+p.Pair]) }
	said := pairsSaid(j.t, estimates)
	curve, with := j.selection(said, estimates, 0)
	over := func(of []policy.CalibrationPoint) (sum float64) {
		for _, p := range of {
			if gap(p) == 0 {
				sum += (p.Estimate - 0.5) / rows
			}
		}
		return sum
	}
	if before, after := over(said), over(with); before > -0.15 || math.Abs(after) > 0.01 {
		t.Errorf("expected losses of chosen pairs are %.4f too high, %.4f with the curve", before, after)
	}
	if err := curve.Check(); err != nil || len(curve.X) < 3 {
		t.Errorf("a curve through %d points: %v", len(curve.X), err)
	}
}

// TestSelectionOfDearPairs: where fees are large beside losses, gaps are close to each other in float32, and the curve still
// rises there.
func TestSelectionOfDearPairs(t *testing.T) {
	for _, fee := range []float64{0, 10, 1e5, 1e12} {
		rng := rand.New(rand.NewPCG(5, 6))
		var of []policy.CalibrationPoint
		for n := range 4000 {
			of = append(of, policy.CalibrationPoint{Estimate: 0.5 + 0.01*rng.Float64(), Loss: 0.5, Pair: n % 2, Row: n / 2})
		}
		gap := func(p policy.CalibrationPoint) float64 {
			if p.Pair == 0 {
				return 0
			}
			return float64(float32(fee + p.Estimate))
		}
		if err := fitSelection(of, gap, alike).Check(); err != nil {
			t.Errorf("a fee of %g: %v", fee, err)
		}
	}
}
