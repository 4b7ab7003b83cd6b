package regress

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pipe/models"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/onnx/ort/orttest"
)

// families are one of each kind, on data as drawn has.
func families(t *testing.T, d *Data) map[string]Family {
	t.Helper()
	d.ExpertFees, d.AdviceFees = []float64{0, 0.1, 0.2}, []float64{0}
	d.Mask = slices.Repeat([]bool{true}, d.Pairs)
	rt := orttest.Open(t, 0)
	return map[string]Family{
		"constant":   Constant{},
		"ridge":      Ridge{Penalties: []float64{1, 50}},
		"neighbours": Neighbours{Runtime: rt, K: []int{5, 40}},
		"trees":      Trees{Library: lightgbmtest.Open(t), Rounds: []int{10, 30}},
		"networks": Networks{
			Candidates: []Architecture{{Hidden: []int{8}, WeightDecay: 0.1, LearningRate: 1e-2}}, Steps: 30, Seeds: 1, Seed: 3,
			Workers: runtime.GOMAXPROCS(0), Options: models.Options{Runtime: rt},
		},
	}
}

// crossed are the estimates of every member for held rows.
func crossed(t *testing.T, f Family, d *Data, fit, held []int) (all []float32) {
	t.Helper()
	folds, err := f.CrossFit(t.Context(), d, []Fold{{fit, held}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range folds[0] {
		all = append(all, e...)
	}
	return all
}

// furthest is the largest difference of two lists of estimates.
func furthest(t *testing.T, a, b []float32) (most float64) {
	t.Helper()
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d and %d estimates", len(a), len(b))
	}
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return most
}

// shares marks about a share of all cells as known, and all of the first rows.
func shares(d *Data, whole int, share float64) []bool {
	rng := rand.New(rand.NewPCG(7, 7))
	known := make([]bool, len(d.Y))
	for i := range known {
		known[i] = rng.Float64() < share || i < whole*d.Pairs
	}
	return known
}

// Weights that are all the same, and losses that are all known, change nothing; of members whose penalty is compared with
// the number of rows, only weights of 1.
func TestEqualWeightsChangeNothing(t *testing.T) {
	d := drawn(300, 5, 3, 3)
	fit, held := count(0, 220), count(220, 300)
	for name, f := range families(t, d) {
		plain := crossed(t, f, d, fit, held)
		d.Weight, d.Known = slices.Repeat([]float64{1}, d.Len()), slices.Repeat([]bool{true}, len(d.Y))
		if off := furthest(t, plain, crossed(t, f, d, fit, held)); off > 1e-4 {
			t.Errorf("%s: estimates differ by %g", name, off)
		}
		d.Known = nil
		d.Weight = slices.Repeat([]float64{0.25}, d.Len())
		if off := furthest(t, plain, crossed(t, f, d, fit, held)); off > 1e-4 && name != "ridge" && name != "trees" {
			t.Errorf("%s: estimates with weights of 1/4 differ by %g", name, off)
		}
		d.Weight = nil
	}
}

// A row of weight 2 is the same as the row twice.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
	d := drawn(200, 5, 3, 4)
	twice := &Data{Dim: d.Dim, Pairs: d.Pairs}
	d.Weight = slices.Repeat([]float64{1}, d.Len())
	var fit []int // of twice
	for n := range d.Len() {
		times := 1
		if n < 150 && n%3 == 0 {
			d.Weight[n], times = 2, 2
		}
		for range times {
			if n < 150 {
				fit = append(fit, twice.Len())
			}
			twice.X, twice.Y = append(twice.X, d.Row(n)...), append(twice.Y, d.Losses(n)...)
		}
	}
	held, heldTwice := count(150, 200), count(len(fit), twice.Len())
	all := families(t, twice)
	families(t, d)
	for _, name := range []string{"constant", "ridge"} {
		if off := furthest(t, crossed(t, all[name], d, count(0, 150), held), crossed(t, all[name], twice, fit, heldTwice)); off > 1e-5 {
			t.Errorf("%s: estimates differ by %g", name, off)
		}
	}
	parts, err := all["ridge"].Fit(t.Context(), d, count(0, 150), []float64{1, 0})
	twiceParts, err2 := all["ridge"].Fit(t.Context(), twice, fit, []float64{1, 0})
	if err != nil || err2 != nil || len(parts) != 1 || len(twiceParts) != 1 {
		t.Fatal(err, err2)
	}
}

// Losses that are not known have no influence, whatever is in their place, and those that are known have some.
func TestUnknownLossesDoNotCount(t *testing.T) {
	d := drawn(300, 5, 3, 5)
	fit, held := count(0, 220), count(220, 300)
	d.Known = shares(d, 30, 0.5)
	other := *d
	other.Y = slices.Clone(d.Y)
	for i, known := range d.Known {
		if !known {
			other.Y[i] = -1e6
		}
	}
	known := *d
	known.Y = slices.Clone(d.Y)
	for i := range 30 {
		known.Y[i*d.Pairs] += 3
	}
	all := families(t, d)
	families(t, &other)
	families(t, &known)
	for name, f := range all {
		plain := crossed(t, f, d, fit, held)
		if !slices.Equal(plain, crossed(t, f, &other, fit, held)) {
			t.Errorf("%s: losses that are not known change the estimates", name)
		}
		if slices.Equal(plain, crossed(t, f, &known, fit, held)) {
			t.Errorf("%s: losses that are known do not change the estimates", name)
		}
	}
}

// The estimates of a pair are those of a fit on the rows on which it is known.
func TestPairsLearnFromTheRowsThatKnowThem(t *testing.T) {
	d := drawn(300, 5, 3, 6)
	fit, held := count(0, 220), count(220, 300)
	all := families(t, d)
	whole := *d
	d.Known = shares(d, 30, 0.6)
	for _, name := range []string{"constant", "ridge", "trees"} {
		partial := crossed(t, all[name], d, fit, held)
		for pair := range d.Pairs {
			var rows []int
			for _, n := range fit {
				if d.Known[n*d.Pairs+pair] {
					rows = append(rows, n)
				}
			}
			alone := crossed(t, all[name], &whole, rows, held)
			for i := pair; i < len(alone); i += d.Pairs {
				if math.Abs(float64(alone[i]-partial[i])) > 1e-5 {
					t.Fatalf("%s, pair %d: %g, with the known rows alone %g", name, pair, partial[i], alone[i])
				}
			}
		}
	}
	families(t, d)
	for n := range fit {
		d.Known[n*d.Pairs+1] = false
	}
	for name, f := range all {
		if _, err := f.CrossFit(t.Context(), d, []Fold{{fit, held}}); err == nil && name != "networks" {
			t.Errorf("%s: a pair without losses is estimated", name)
		}
	}
}

// Where half of the losses are known, the nearest known ones stand in for the others: the estimates of neighbours stay
// near those with all losses, nearer than with the mean in their place.
func TestNeighboursFillWhatIsNotKnown(t *testing.T) {
	d := drawn(3000, 2, 3, 8)
	fit, held := count(0, 2900), count(2900, 3000)
	f := families(t, d)["neighbours"]
	whole := crossed(t, f, d, fit, held)
	partial := *d
	partial.Known = shares(d, 0, 0.5)
	off := furthest(t, whole, crossed(t, f, &partial, fit, held))
	means, err := partial.Means(fit)
	if err != nil {
		t.Fatal(err)
	}
	meant := *d
	meant.Y = slices.Clone(d.Y)
	for i, known := range partial.Known {
		if !known {
			meant.Y[i] = float32(means[i%d.Pairs])
		}
	}
	if mean := furthest(t, whole, crossed(t, f, &meant, fit, held)); off > mean/2 {
		t.Errorf("estimates are off by %g, with means in place by %g", off, mean)
	}
}

func TestThinnedKeepsByWeight(t *testing.T) {
	rows, weights := count(0, 30000), make([]float64, 30000)
	for i := range weights {
		weights[i] = []float64{2, 1, 0.5}[i%3]
	}
	var kept [3]int
	for _, n := range thinned(rows, weights, rand.New(rand.NewPCG(1, 1))) {
		kept[n%3]++
	}
	if kept[0] != 10000 || math.Abs(float64(kept[1]-5000)) > 200 || math.Abs(float64(kept[2]-2500)) > 200 {
		t.Errorf("kept %v of 10,000 each", kept)
	}
}
