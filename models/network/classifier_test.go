package network

import (
	"math"
	"math/rand/v2"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// TestExportedClassifierEqualsReference compares the file with Classify, for two classes and for more.
func TestExportedClassifierEqualsReference(t *testing.T) {
	rt := orttest.Open(t, 0)
	r := rand.New(rand.NewPCG(5, 5))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(3 * r.NormFloat64())
		}
		return v
	}
	for _, c := range []struct{ classes, outputs int }{{2, 1}, {3, 3}} {
		m := MLP{Layers: []Affine{
			{Out: 5, In: 4, W: draw(20), B: draw(5)},
			{Out: c.classes, In: 5, W: draw(5 * c.classes), B: draw(c.classes)},
		}}
		model, err := m.ExportClassifier()
		if err != nil {
			t.Fatal(err)
		}
		b, err := model.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		s, err := rt.Session(b, rt.SessionOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const n = 200
		rows := draw(4 * n)
		out, err := s.Run(t.Context(), map[string]*onnx.Tensor{rowsInput: onnx.Float32s([]int64{n, 4}, rows)})
		if err != nil {
			t.Fatal(err)
		}
		got := out[probabilityOutput].Float32s()
		if len(got) != n*c.outputs {
			t.Fatalf("%d classes: %d probabilities for %d rows", c.classes, len(got), n)
		}
		for i := range n {
			want := m.Classify(rows[4*i : 4*i+4])
			want = want[len(want)-c.outputs:]
			for j, w := range want {
				if math.Abs(float64(got[i*c.outputs+j])-w) > 1e-5 {
					t.Fatalf("%d classes: row %d: got %v, want %v", c.classes, i, got[i*c.outputs:(i+1)*c.outputs], want)
				}
			}
		}
	}
}

func TestExportClassifierRefusesWhatClassifiesNothing(t *testing.T) {
	for name, m := range map[string]MLP{
		"no layers":      {},
		"one output":     {Layers: []Affine{{Out: 1, In: 1, W: []float32{1}, B: []float32{0}}}},
		"missing weight": {Layers: []Affine{{Out: 2, In: 2, W: []float32{1}, B: []float32{0, 0}}}},
		"not finite":     {Layers: []Affine{{Out: 2, In: 1, W: []float32{1, float32(math.NaN())}, B: []float32{0, 0}}}},
	} {
		if _, err := m.ExportClassifier(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
