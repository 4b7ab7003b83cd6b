package lightgbm

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBoundary: a split in float32 decides like the one in float64, for values around thresholds, around LightGBM's
// zero, and for NaN.
func TestBoundary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := Split{Threshold: grownThreshold(r), Missing: Missing(r.IntN(3)), DefaultLeft: r.IntN(2) == 0}
		if rapid.Bool().Draw(t, "any") {
			s.Threshold = rapid.Float64().Draw(t, "threshold")
		}
		threshold, nanLeft, err := s.float32()
		if err != nil {
			if s.Missing != MissingZero || s.goesLeft(0) == (0 <= s.Threshold) {
				t.Fatal(err)
			}
			return
		}
		around := float32(s.Threshold)
		values := append(awkward(), around, neighbour(around, 1), neighbour(around, -1), rapid.Float32().Draw(t, "value"))
		for _, v := range values {
			got := v <= threshold || nanLeft && math.IsNaN(float64(v))
			if want := s.goesLeft(float64(v)); got != want {
				t.Fatalf("%+v: %g goes left: %t, exported with %g: %t", s, v, want, threshold, got)
			}
		}
	})
}

func TestExportErrors(t *testing.T) {
	against := Split{Threshold: 1, Missing: MissingZero, Left: ^0, Right: ^1}
	for want, tree := range map[string]Tree{
		"tree 1: split 0: decision_type: 0 is a missing value of column 0": {Splits: []Split{against}, Leaves: []float64{1, 2}},
		"tree 1: leaf_value[0] is 1e+39: does not fit float32":             {Leaves: []float64{1e39}},
	} {
		m := &Model{Columns: 1, Sigmoid: 1, Trees: []Tree{{Leaves: []float64{0}}, tree}}
		if _, err := m.Export(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := (&Model{Columns: 1, Sigmoid: 1}).Export(); err == nil {
		t.Error("a model without trees exports")
	}
}

// TestExportShape: the file declares its inputs and outputs, and the same model gives the same bytes.
func TestExportShape(t *testing.T) {
	m := grown(rand.New(rand.NewPCG(3, 3)), 3, 8, 5)
	model, err := m.Export()
	if err != nil {
		t.Fatal(err)
	}
	in, out := model.Inputs(), model.Outputs()
	if len(in) != 1 || in[0].Name != "rows" || in[0].Shape.String() != "[n 5]" ||
		len(out) != 1 || out[0].Name != "probability" || out[0].Shape.String() != "[n 1]" {
		t.Errorf("inputs %v, outputs %v", in, out)
	}
	first, second := exported(t, m), exported(t, m)
	if !bytes.Equal(first, second) {
		t.Error("two exports differ")
	}
}

// TestReferenceByHand: one tree, every branch worked out.
func TestReferenceByHand(t *testing.T) {
	nan := float32(math.NaN())
	m := &Model{Columns: 2, Sigmoid: 2, Trees: []Tree{
		{
			Splits: []Split{
				{Column: 0, Threshold: -1, Left: 1, Right: ^0},                                          // NaN counts as 0: right
				{Column: 1, Threshold: 5, Missing: MissingNaN, DefaultLeft: false, Left: ^1, Right: ^2}, // NaN right
			},
			Leaves: []float64{1, 10, 100},
		},
		{Leaves: []float64{0.5}},
	}}
	for _, c := range []struct {
		row  []float32
		want float64
	}{
		{[]float32{0, 0}, 1.5},
		{[]float32{nan, 0}, 1.5},
		{[]float32{-1, 5}, 10.5},
		{[]float32{-1, 6}, 100.5},
		{[]float32{-2, nan}, 100.5},
	} {
		if got := m.Margin(c.row); got != c.want {
			t.Errorf("%v: margin %v, want %v", c.row, got, c.want)
		}
	}
	if got, want := m.Probability(1.5), 1/(1+math.Exp(-3)); got != want {
		t.Errorf("probability %v, want %v", got, want)
	}
}
