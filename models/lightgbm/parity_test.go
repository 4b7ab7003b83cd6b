package lightgbm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// testSession is the exported model in ONNX Runtime.
func testSession(t testing.TB, m *Model, threads int) *ort.Session {
	t.Helper()
	rt := orttest.Open(t, 0)
	file := exported(t, m)
	o := rt.SessionOptions()
	o.Threads = threads
	s, err := rt.Session(file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func exported(t testing.TB, m *Model) []byte {
	t.Helper()
	model, err := m.Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(); err != nil {
		t.Fatal(err)
	}
	file, err := model.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func runONNX(t testing.TB, s *ort.Session, x matrix) []float32 {
	t.Helper()
	out, err := s.Run(context.Background(), map[string]*onnx.Tensor{"rows": onnx.Float32s([]int64{int64(x.rows), int64(x.cols)}, x.x)})
	if err != nil {
		t.Fatal(err)
	}
	return out["probability"].Float32s()
}

const tolerance = 1e-5

// compare compares LightGBM, the Go reference and the ONNX file on every row, and returns the largest differences.
func compare(t *testing.T, b *Booster, m *Model, x matrix) {
	t.Helper()
	want, err := b.Predict(x.x, x.rows)
	if err != nil {
		t.Fatal(err)
	}
	margins, err := b.predict(x.x, x.rows, 1) // the sums of leaves
	if err != nil {
		t.Fatal(err)
	}
	got := runONNX(t, testSession(t, m, 2), x)
	var worstMargin, worst float64
	for i := range want {
		margin := m.Margin(x.row(i))
		worstMargin = max(worstMargin, math.Abs(margin-margins[i]))
		worst = max(worst, math.Abs(float64(got[i])-want[i]), math.Abs(m.Probability(margin)-want[i]))
		if !(worst <= tolerance && worstMargin <= 1e-9) {
			t.Fatalf("row %d: LightGBM %v (margin %v), reference margin %v, ONNX %v\n%v", i, want[i], margins[i], margin, got[i], x.row(i))
		}
	}
	t.Logf("%d rows: probabilities within %.2g, margins within %.2g", x.rows, worst, worstMargin)
}

// TestParityTrained: trained models agree on rows unlike any in training: gaps in complete columns, neighbours of every
// threshold, unseen codes, infinities, both zeros.
func TestParityTrained(t *testing.T) {
	l := testLibrary(t)
	s := made(4000, 12, 3)
	weighted := testParams()
	weighted.FeatureFraction, weighted.BaggingFraction, weighted.BaggingFreq, weighted.L2 = 0.7, 0.8, 2, 1
	large := testParams()
	large.Rounds, large.Leaves, large.LearningRate = 400, 63, 0.3
	if testing.Short() {
		large.Rounds = 40
	}
	for name, p := range map[string]Params{"plain": testParams(), "sampled": weighted, "large": large} {
		t.Run(name, func(t *testing.T) {
			b, m := fit(t, l, s, p)
			kinds := map[Missing]int{}
			for _, tree := range m.Trees {
				for _, split := range tree.Splits {
					kinds[split.Missing]++
				}
			}
			if kinds[MissingNone] == 0 || kinds[MissingNaN] == 0 {
				t.Errorf("kinds of missing values are %v", kinds)
			}
			compare(t, b, m, s.matrix)
			compare(t, b, m, hostile(m, 10_000, &s.matrix, 5))
		})
	}
}

// TestParityExtremes: the training set itself contains infinities, huge and tiny values.
func TestParityExtremes(t *testing.T) {
	l := testLibrary(t)
	s := made(2000, 6, 9)
	r, edges := rand.New(rand.NewPCG(1, 1)), awkward()
	for i := range s.x {
		if r.IntN(4) == 0 {
			s.x[i] = edges[r.IntN(len(edges))]
		}
	}
	b, m := fit(t, l, s, testParams())
	compare(t, b, m, hostile(m, 10_000, &s.matrix, 6))
}

// TestParityGrown: models with thresholds and defaults that none of our trainings produce, including trees of a single
// leaf.
func TestParityGrown(t *testing.T) {
	l := testLibrary(t)
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := grown(rand.New(rand.NewPCG(seed, 4)), 1+int(seed), 12, 3)
			b, err := l.Load(m.text(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			compare(t, b, m, hostile(m, 1000, nil, seed))
		})
	}
}

// TestParitySingleLeaf: no split helps, and the model is its constant.
func TestParitySingleLeaf(t *testing.T) {
	l := testLibrary(t)
	s := made(300, 3, 2)
	p := testParams()
	p.MinLeaf = 300
	b, m := fit(t, l, s, p)
	if len(m.Trees) != 1 || len(m.Trees[0].Splits) != 0 {
		t.Fatalf("model is %+v", m.Trees)
	}
	compare(t, b, m, s.matrix)
}

func TestParitySigmoid(t *testing.T) {
	l := testLibrary(t)
	m := grown(rand.New(rand.NewPCG(7, 7)), 5, 8, 4)
	m.Sigmoid = 0.5
	b, err := l.Load(m.text(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	compare(t, b, m, hostile(m, 1000, nil, 1))
}

// Margin is the sum of the leaves that row reaches; row has Columns values. It follows LightGBM's prediction, in
// float64.
func (m *Model) Margin(row []float32) float64 {
	sum := 0.0
	for i := range m.Trees {
		sum += m.Trees[i].leaf(row)
	}
	return sum
}

// Probability is the probability of label 1 for a margin.
func (m *Model) Probability(margin float64) float64 {
	return 1 / (1 + math.Exp(-m.Sigmoid*margin))
}

func (t *Tree) leaf(row []float32) float64 {
	at := 0
	if len(t.Splits) == 0 {
		at = ^0
	}
	for at >= 0 {
		s := &t.Splits[at]
		if s.goesLeft(float64(row[s.Column])) {
			at = s.Left
		} else {
			at = s.Right
		}
	}
	return t.Leaves[^at]
}

func (s *Split) goesLeft(v float64) bool {
	missing := math.IsNaN(v)
	if missing && s.Missing == MissingNaN {
		return s.DefaultLeft
	}
	if missing || math.Abs(v) <= tiny {
		if s.Missing == MissingZero {
			return s.DefaultLeft
		}
		v = 0
	}
	return v <= s.Threshold
}
