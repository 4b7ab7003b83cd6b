package regress

import (
	"slices"
	"strings"
	"testing"

	"pipe/models/estimate"
	"pipe/onnx/ort/orttest"
)

// A family of a block learns what it learns from a table of these features alone, and so does what it exports.
func TestBlockIsATableOfItsFeatures(t *testing.T) {
	const from, to = 2, 5
	d := drawn(300, 7, 3, 5)
	d.Weight = make([]float64, d.Len())
	for n := range d.Weight {
		d.Weight[n] = 1 + float64(n%3)
	}
	alone := *d
	alone.X, alone.Dim = nil, to-from
	for n := range d.Len() {
		alone.X = append(alone.X, d.Row(n)[from:to]...)
	}
	folds := []Fold{{count(0, 200), count(200, 300)}, {count(100, 300), count(0, 100)}}
	for _, f := range []Family{Ridge{[]float64{1, 100}}, Neighbours{Runtime: orttest.Open(t, 0), K: []int{3, 9}, Seed: 1}} {
		b := Block{f, from, to}
		want, err := f.CrossFit(t.Context(), &alone, folds)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the data of the block are kept
			got, err := b.CrossFit(t.Context(), d, folds)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				for m := range want[i] {
					if !slices.Equal(got[i][m], want[i][m]) {
						t.Errorf("%s: fold %d has other estimates", b.Members()[m], i)
					}
				}
			}
		}
		parts, err := b.Fit(t.Context(), d, count(0, 300), []float64{0.3, 0.7})
		if err != nil {
			t.Fatal(err)
		}
		other, err := f.Fit(t.Context(), &alone, count(0, 300), []float64{0.3, 0.7})
		if err != nil {
			t.Fatal(err)
		}
		got, wanted := estimateOf(parts, d.Row(7)), estimateOf(other, alone.Row(7))
		if !slices.Equal(got, wanted) || (estimate.Blend{Parts: parts}).Check(d.Dim, d.Pairs) != nil {
			t.Errorf("%v is estimated, not %v", got, wanted)
		}
		if name := b.Members()[1]; !strings.HasSuffix(name, " of features 2 to 4") {
			t.Error(name)
		}
	}
}

func estimateOf(parts []estimate.Part, x []float32) []float64 {
	in, out := make([]float64, len(x)), make([]float64, 3)
	for c, v := range x {
		in[c] = float64(v)
	}
	estimate.Blend{Parts: parts}.Estimate(out, in)
	return out
}
