package regress

import (
	"slices"
	"testing"

	"pipe/models/lightgbm/lightgbmtest"
)

// A fit estimates what cross-fitting does, with members that have no weight, and with one that alone has some.
func TestTreesEstimateAsTheirFamily(t *testing.T) {
	f := Trees{Library: lightgbmtest.Open(t), Rounds: []int{3, 40, 20}, Seed: 1<<40 + 3}
	for _, weights := range [][]float64{{0.3, 0, 0.5}, {0.3, 0.2, 0.5}, {1, 0, 0}} {
		sameAsFamily(t, f, weights)
	}
	if parts, err := f.Fit(t.Context(), drawn(260, 5, 4, 3), count(0, 200), make([]float64, 3)); err != nil || parts != nil {
		t.Errorf("%d parts without weights, %v", len(parts), err)
	}
}

// Members do not depend on each other, equal input gives equal bits, and the seed counts.
func TestTreesOfOneTraining(t *testing.T) {
	library := lightgbmtest.Open(t)
	d := drawn(300, 40, 2, 5)
	estimates := func(seed uint64, rounds ...int) [][]float32 {
		t.Helper()
		f := Trees{Library: library, Rounds: rounds, Seed: seed}
		folds, err := f.CrossFit(t.Context(), d, []Fold{{count(0, 200), count(200, 300)}})
		if err != nil {
			t.Fatal(err)
		}
		return folds[0]
	}
	both := estimates(1, 30, 5)
	for m, alone := range [][]float32{estimates(1, 30)[0], estimates(1, 5)[0]} {
		if !slices.Equal(both[m], alone) {
			t.Errorf("member %d is another one alone", m)
		}
	}
	if slices.Equal(both[0], both[1]) || slices.Equal(both[0], estimates(2, 30)[0]) {
		t.Error("neither the number of trees nor the seed counts")
	}
}
