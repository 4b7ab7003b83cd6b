package lightgbm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/models/estimate"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// targets are rows with what is to be estimated for every pair.
type targets struct {
	matrix
	y     []float64 // rows x pairs
	pairs int
}

func (s targets) column(pair int) []float32 {
	out := make([]float32, s.rows)
	for i := range out {
		out[i] = float32(s.y[i*s.pairs+pair])
	}
	return out
}

// drawnTargets has noisy losses of 0 and 1 that depend on the first columns, a smooth target and one that is constant.
func drawnTargets(x matrix, seed uint64) targets {
	r := rand.New(rand.NewPCG(seed, 5))
	s := targets{matrix: x, pairs: 3}
	for i := range x.rows {
		first := float64(x.row(i)[0])
		if math.IsNaN(first) || math.IsInf(first, 0) {
			first = 0
		}
		loss := 0.0
		if r.Float64() < 1/(1+math.Exp(-first)) {
			loss = 1
		}
		s.y = append(s.y, loss, 10+math.Tanh(first)+0.1*r.NormFloat64(), -2.5)
	}
	return s
}

// filled is a matrix of the given values.
func filled(rows, cols int, value func(row, col int) float32) matrix {
	m := matrix{make([]float32, rows*cols), rows, cols}
	for i := range m.x {
		m.x[i] = value(i/cols, i%cols)
	}
	return m
}

// regressionCases are training sets at the edges of what a policy sees.
func regressionCases() map[string]targets {
	r := rand.New(rand.NewPCG(8, 8))
	normal := func(int, int) float32 { return float32(r.NormFloat64()) }
	edges := awkward()
	return map[string]targets{
		"normal":   drawnTargets(filled(600, 40, normal), 1),
		"mixed":    drawnTargets(made(600, 9, 2).matrix, 2),
		"whole":    drawnTargets(filled(600, 4, func(int, int) float32 { return float32(r.IntN(4)) }), 3),
		"constant": drawnTargets(filled(300, 3, func(row, col int) float32 { return float32(col * (row % 7)) }), 4),
		"edges":    drawnTargets(filled(600, 4, func(int, int) float32 { return edges[r.IntN(len(edges))] }), 5),
		"one row":  drawnTargets(filled(1, 5, normal), 6),
	}
}

func regressionParams(dim int) Params {
	p := DefaultRegressionParams(dim)
	p.Rounds, p.MinLeaf, p.Threads, p.Seed = 30, 5, 1, 4
	return p
}

func trainRegressor(t testing.TB, s targets, p Params) *Regressor {
	t.Helper()
	r, err := testLibrary(t).TrainRegressor(t.Context(), s.x, s.cols, s.y, nil, s.pairs, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(s.cols, s.pairs); err != nil {
		t.Fatal(err)
	}
	return r
}

// splits is a model with all splits of the regressor, of which hostile takes the thresholds.
func (r *Regressor) splits() *Model {
	m := &Model{Columns: r.Dim}
	for _, trees := range r.Trees {
		for _, nodes := range trees {
			var t Tree
			for _, n := range nodes {
				if !n.IsLeaf() {
					t.Splits = append(t.Splits, Split{Column: n.Column, Threshold: float64(n.Threshold)})
				}
			}
			m.Trees = append(m.Trees, t)
		}
	}
	return m
}

// reference is what Estimate says of every row, rows x pairs.
func (r *Regressor) reference(x matrix) []float64 {
	out := make([]float64, x.rows*len(r.Trees))
	row := make([]float64, x.cols)
	for i := range x.rows {
		for c, v := range x.row(i) {
			row[c] = float64(v)
		}
		r.Estimate(out[i*len(r.Trees):(i+1)*len(r.Trees)], row)
	}
	return out
}

// regressorFile is a file of the estimator, alone and within a larger graph.
func regressorFile(t testing.TB, r *Regressor) []byte {
	t.Helper()
	g := onnx.NewGraph("policy")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(r.Dim))})
	g.Output("y", r.Graph(g, x, "y_"))
	parts := []estimate.Part{{Estimator: r, Weight: 0.75}, {Estimator: r.first(2), Weight: 0.25}}
	g.Output("blend", estimate.Blend{Parts: parts}.Graph(g, x, "blend_"))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	file, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// worst is the largest difference, relative for values beyond 1; NaN only equals NaN.
func worst[T, U float32 | float64](a []T, b []U) float64 {
	d := 0.0
	if len(a) != len(b) {
		return math.NaN()
	}
	for i := range a {
		v, w := float64(a[i]), float64(b[i])
		if math.IsNaN(v) && math.IsNaN(w) {
			continue
		}
		d = max(d, math.Abs(v-w)/max(1, math.Abs(v)))
	}
	return d
}

// judgeTrees compares the outputs of our runtime, kept in folders, with those of Python's.
const judgeTrees = `
import os, sys, numpy as np, onnx, onnxruntime as ort
for folder in sys.argv[1:]:
    path = os.path.join(folder, "m.onnx")
    onnx.checker.check_model(path, full_check=True)
    domains = {n.domain for n in onnx.load(path).graph.node}
    assert domains == {"", "ai.onnx.ml"}, domains
    s = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    read = lambda name, width: np.fromfile(os.path.join(folder, name), dtype="<f4").reshape(-1, width)
    x = read("x", s.get_inputs()[0].shape[1])
    for name, got in zip(["y", "blend"], s.run(["y", "blend"], {"x": x})):
        want = read(name, got.shape[1])
        assert got.shape == want.shape == (len(x), 3), (folder, got.shape, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=folder)
print(len(sys.argv) - 1, "folders")
`

// writeCase keeps what judgeTrees reads in a folder.
func writeCase(t *testing.T, dir string, model []byte, floats map[string][]float32) {
	t.Helper()
	files := map[string][]byte{"m.onnx": model}
	for name, v := range floats {
		b, err := binary.Append(nil, binary.LittleEndian, v)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRegressorParity: LightGBM, the Go reference, the graph in our runtime and the graph in Python agree on training rows
// and on hostile ones. Models that LightGBM trains one by one, on data of their own, are the same.
func TestRegressorParity(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for name, s := range regressionCases() {
		p := regressionParams(s.cols)
		r := trainRegressor(t, s, p)
		for where, x := range map[string]matrix{"trained": s.matrix, "hostile": hostile(r.splits(), 500, &s.matrix, 3)} {
			t.Run(name+"/"+where, func(t *testing.T) {
				reference := r.reference(x)
				if d := worst(alone(t, s, p, x), reference); !(d <= 1e-6) {
					t.Errorf("LightGBM and Go differ by %g", d)
				}
				folder := filepath.Join(dir, name, where)
				runGraph(t, r, x, reference, folder)
				folders = append(folders, folder)
			})
		}
	}
	python := judge.Python(t, "numpy", "onnx", "onnxruntime")
	if out := judge.Run(t, python, dir, judgeTrees, folders...); out != fmt.Sprintln(len(folders), "folders") {
		t.Error(out)
	}
}

// alone are LightGBM's own predictions, rows x pairs, of models that are trained one by one.
func alone(t *testing.T, s targets, p Params, x matrix) []float64 {
	t.Helper()
	out := make([]float64, x.rows*s.pairs)
	l := testLibrary(t)
	for i := range s.pairs {
		texts, err := l.train(t.Context(), s.matrix, [][]float32{s.column(i)}, nil, training{p, Regression}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Load(texts[0], p.Threads)
		if err != nil {
			t.Fatal(err)
		}
		own, err := b.Predict(x.x, x.rows)
		if err := errors.Join(err, b.Close()); err != nil {
			t.Fatal(err)
		}
		for n, v := range own {
			out[n*s.pairs+i] = v
		}
	}
	return out
}

// runGraph compares the graph with the reference, and keeps both in a folder.
func runGraph(t *testing.T, r *Regressor, x matrix, reference []float64, folder string) {
	t.Helper()
	file := regressorFile(t, r)
	rt := orttest.Open(t, 0)
	session, err := rt.Session(file, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out, err := session.Run(context.Background(), map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{int64(x.rows), int64(x.cols)}, x.x)})
	if err != nil {
		t.Fatal(err)
	}
	y, blend := out["y"].Float32s(), out["blend"].Float32s()
	if d := worst(y, reference); !(d <= 1e-6) {
		t.Errorf("the graph and Go differ by %g", d)
	}
	writeCase(t, folder, file, map[string][]float32{"x": x.x, "y": y, "blend": blend})
}

// TestRegressorLearns: the estimates explain most of what can be explained, and a constant target is the constant.
func TestRegressorLearns(t *testing.T) {
	s := regressionCases()["normal"]
	r := trainRegressor(t, s, regressionParams(s.cols))
	var before, after float64
	for i, v := range r.reference(s.matrix) {
		switch pair := i % s.pairs; {
		case pair == 2 && v != -2.5:
			t.Fatalf("row %d: %v for the constant -2.5", i/s.pairs, v)
		case pair == 1:
			before += (s.y[i] - 10) * (s.y[i] - 10)
			after += (s.y[i] - v) * (s.y[i] - v)
		}
	}
	if after > before/4 {
		t.Errorf("squared error %g of the mean, %g of the trees", before, after)
	}
	if first, second := r.Trees[0][3], r.Trees[0][4]; reflect.DeepEqual(first, second) {
		t.Error("two rounds have the same tree")
	}
}

// TestRegressorDeterministic: equal input gives equal bits, also after other trainings and whatever the other pairs are;
// another seed gives other trees.
func TestRegressorDeterministic(t *testing.T) {
	s := regressionCases()["normal"]
	p := regressionParams(s.cols)
	p.Threads = 2
	want := trainRegressor(t, s, p)
	if again := trainRegressor(t, s, p); !reflect.DeepEqual(want, again) {
		t.Error("two trainings differ")
	}
	for i := range s.pairs {
		one := targets{matrix: s.matrix, pairs: 1}
		for n := range s.rows {
			one.y = append(one.y, s.y[n*s.pairs+i])
		}
		if got := trainRegressor(t, one, p); !reflect.DeepEqual(got.Trees[0], want.Trees[i]) {
			t.Errorf("pair %d differs when trained alone", i)
		}
	}
	p.Seed++
	if other := trainRegressor(t, s, p); reflect.DeepEqual(want, other) {
		t.Error("the seed changes nothing")
	}
}

// TestRegressorRounds: the first rounds of a long training are a short training, whatever way they are read.
func TestRegressorRounds(t *testing.T) {
	s := regressionCases()["mixed"]
	p := regressionParams(s.cols)
	long := trainRegressor(t, s, p)
	rounds := []int{7, 1, 30, 500}
	at, err := long.EstimatesAt(s.x, rounds)
	if err != nil {
		t.Fatal(err)
	}
	for m, n := range rounds {
		if n <= p.Rounds {
			short := p
			short.Rounds = n
			if got := trainRegressor(t, s, short); !reflect.DeepEqual(got, long.first(n)) {
				t.Errorf("%d rounds are not the first ones of %d", n, p.Rounds)
			}
		}
		if d := worst(at[m], long.first(n).reference(s.matrix)); !(d <= 1e-6) {
			t.Errorf("after %d rounds the estimates differ by %g", n, d)
		}
	}
	if got := long.first(500).Rounds(); got != p.Rounds {
		t.Errorf("%d rounds", got)
	}
}

// TestRegressorWeighted: one estimator for a weighted sum of rounds, with only the trees that count.
func TestRegressorWeighted(t *testing.T) {
	s := regressionCases()["normal"]
	r := trainRegressor(t, s, regressionParams(s.cols))
	rounds, weights := []int{2, 9, 30}, []float64{0.25, 0.5, 0}
	sum := r.Weighted(rounds, weights)
	if sum.Rounds() != 9 {
		t.Errorf("%d trees, want 9", sum.Rounds())
	}
	want := make([]float64, len(s.y))
	for m, n := range rounds {
		for i, v := range r.first(n).reference(s.matrix) {
			want[i] += weights[m] * v
		}
	}
	if d := worst(sum.reference(s.matrix), want); !(d <= 1e-6) {
		t.Errorf("differs by %g", d)
	}
	if got := r.Weighted([]int{5}, []float64{0}); got.Check(r.Dim, s.pairs) != nil || slices.Max(got.reference(s.matrix)) != 0 {
		t.Error("no weight is not an estimate of 0")
	}
}

// TestRegressorBytes: the stated size is not exceeded, and is not far from the real one.
func TestRegressorBytes(t *testing.T) {
	s := drawnTargets(filled(400, 200, func(row, col int) float32 { return float32(math.Sin(float64(row*row + 97*col))) }), 9)
	p := DefaultRegressionParams(s.cols)
	p.Threads, p.MinLeaf = 1, 5
	r := trainRegressor(t, s, p)
	g := onnx.NewGraph("trees")
	g.Output("y", r.Graph(g, g.Input("x", onnx.Float32, onnx.Dims(1, 200)), ""))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, at most %d stated, %d trees", len(file), r.Bytes(), len(r.Trees[0])+len(r.Trees[1])+len(r.Trees[2]))
	const rest = 1000 // names and the graph around the trees
	if len(file) > r.Bytes()+rest || len(file) < r.Bytes()*3/4 || r.Bytes() > p.MostBytes(s.pairs) {
		t.Errorf("a file of %d bytes, stated are %d", len(file), r.Bytes())
	}
}

// TestRegressorCheck: damaged estimators are refused before anything walks their trees.
func TestRegressorCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	split := func(n onnx.TreeNode) [][][]onnx.TreeNode {
		return [][][]onnx.TreeNode{{{n, {Weight: 1}, {Weight: 2}}}}
	}
	leaf := func(weights ...float32) [][][]onnx.TreeNode {
		var trees [][]onnx.TreeNode
		for _, w := range weights {
			trees = append(trees, []onnx.TreeNode{{Weight: w}})
		}
		return [][][]onnx.TreeNode{trees}
	}
	good := &Regressor{Dim: 2, Trees: split(onnx.TreeNode{Column: 1, Threshold: inf, True: 1, False: 2})}
	if err := good.Check(2, 1); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]*Regressor{
		"on 3 features for rows of 2":         {Dim: 3, Trees: leaf(1)},
		"trees of 0 pairs for 1":              {Dim: 2},
		"pair 0: no trees":                    {Dim: 2, Trees: leaf()},
		"pair 0: tree 0: no nodes":            {Dim: 2, Trees: [][][]onnx.TreeNode{{{}}}},
		"column 2 of 2":                       {Dim: 2, Trees: split(onnx.TreeNode{Column: 2, True: 1, False: 2})},
		"child 0 is not a later node":         {Dim: 2, Trees: split(onnx.TreeNode{True: 0, False: 2})},
		"pair 0: tree 0: a value is not":      {Dim: 2, Trees: split(onnx.TreeNode{Threshold: nan, True: 1, False: 2})},
		"pair 0: tree 1: a value is not":      {Dim: 2, Trees: leaf(1, inf)},
		"the sum over trees does not fit":     {Dim: 2, Trees: leaf(math.MaxFloat32, math.MaxFloat32)},
		"pair 0: tree 0: node 1: is not the ": {Dim: 2, Trees: [][][]onnx.TreeNode{{{{Weight: 1}, {Weight: 1}}}}},
	} {
		if err := r.Check(2, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, c := range []struct {
		values, rounds int
	}{{3, 1}, {4, 0}} {
		if _, err := good.EstimatesAt(make([]float32, c.values), []int{c.rounds}); err == nil {
			t.Errorf("%d values after %d rounds: no error", c.values, c.rounds)
		}
	}
}
