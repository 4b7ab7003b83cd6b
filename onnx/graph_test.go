package onnx_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/ort/orttest"
)

func TestErrorsNameOpAndShapes(t *testing.T) {
	f := func(sizes ...int64) func(*onnx.Graph, string) *onnx.Value {
		return func(g *onnx.Graph, name string) *onnx.Value {
			return g.Input(name, onnx.Float32, onnx.Dims(sizes...))
		}
	}
	batch := func(g *onnx.Graph, name string) *onnx.Value {
		return g.Input(name, onnx.Float32, onnx.Shape{onnx.Sym(name), onnx.Fix(3)})
	}
	tests := []struct {
		want string
		a, b func(*onnx.Graph, string) *onnx.Value
		op   func(g *onnx.Graph, a, b *onnx.Value)
	}{
		{"Add: shapes [2 3] and [2 4]: axis of 3 against axis of 4", f(2, 3), f(2, 4), func(g *onnx.Graph, a, b *onnx.Value) { g.Add(a, b) }},
		{"Mul: shapes [a 3] and [b 3]: axis of a against axis of b", batch, batch, func(g *onnx.Graph, a, b *onnx.Value) { g.Mul(a, b) }},
		{"MatMul: shapes [2 3] and [4 5]: inner axes 3 and 4", f(2, 3), f(4, 5), func(g *onnx.Graph, a, b *onnx.Value) { g.MatMul(a, b) }},
		{"Gemm: shape [7] does not broadcast to [2 5]", f(2, 3), f(3, 5), func(g *onnx.Graph, a, b *onnx.Value) {
			g.Gemm(a, b, g.Const(onnx.Float32s([]int64{7}, make([]float32, 7))), 1, 1, false, false)
		}},
		{"Reshape: [2 3] to [4 -1]: 6 elements cannot be divided by 4", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) { g.Reshape(a, 4, -1) }},
		{"Transpose: order [0 0] for shape [2 3]", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) { g.Transpose(a, 0, 0) }},
		{"ReduceSum: axis 2 of shape [2 3]", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) { g.ReduceSum(a, true, 2) }},
		{"Squeeze: axis 0 of shape [2 3]", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) { g.Squeeze(a, 0) }},
		{"Concat: shapes [2 3] and [2 4]", f(2, 3), f(2, 4), func(g *onnx.Graph, a, b *onnx.Value) { g.Concat(0, a, b) }},
		{"Split: sizes [1 1] for axis 1 of shape [2 3]", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) { g.Split(a, 1, 1, 1) }},
		{"Slice: shape [2 3]: step 0", f(2, 3), f(), func(g *onnx.Graph, a, _ *onnx.Value) {
			g.Slice(a, []int64{0}, []int64{1}, nil, []int64{0})
		}},
		{"Gather: indices are float32", f(2, 3), f(2), func(g *onnx.Graph, a, b *onnx.Value) { g.Gather(a, b, 0) }},
		{"Where: types float32, float32 and float32", f(2), f(2), func(g *onnx.Graph, a, b *onnx.Value) { g.Where(a, a, b) }},
		{"Add: types float32 and int64", f(2), f(2), func(g *onnx.Graph, a, _ *onnx.Value) { g.Add(a, g.Scalar(onnx.Int64, 1)) }},
		{"Exp: needs a float type, got int64", f(2), f(2), func(g *onnx.Graph, _, _ *onnx.Value) { g.Exp(g.Scalar(onnx.Int64, 1)) }},
		{`input: name "a" is already used`, f(2), f(2), func(g *onnx.Graph, _, _ *onnx.Value) { g.Input("a", onnx.Float32, nil) }},
		{"Clip: lower bound above upper bound", f(2), f(2), func(g *onnx.Graph, a, _ *onnx.Value) { g.Clip(a, 1, 0) }},
		{"Expand: [2 3] to [2 4]", f(2, 3), f(2), func(g *onnx.Graph, a, _ *onnx.Value) { g.Expand(a, 2, 4) }},
		{"TopK: 5 elements of axis 1 of shape [2 3]", f(2, 3), f(2), func(g *onnx.Graph, a, _ *onnx.Value) { g.TopK(a, 5, 1, true) }},
		{`Neg: value "x" belongs to another graph`, f(2), f(2), func(g *onnx.Graph, _, _ *onnx.Value) {
			g.Neg(onnx.NewGraph("other").Input("x", onnx.Float32, nil))
		}},
	}
	for _, tt := range tests {
		g := onnx.NewGraph("wrong")
		a, b := tt.a(g, "a"), tt.b(g, "b")
		tt.op(g, a, b)
		// Later calls neither panic nor hide the first error.
		g.Output("y", g.Add(g.MatMul(g.Reshape(g.Exp(a), 17), b), g.Scalar(onnx.Bool, 1)))
		_, err := g.Build(onnx.BuildOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

func TestShapes(t *testing.T) {
	n := onnx.Sym("n")
	g := onnx.NewGraph("shapes")
	x := g.Input("x", onnx.Float32, onnx.Shape{n, onnx.Fix(4), onnx.Fix(6)})
	v := g.Input("v", onnx.Float32, onnx.Dims(6))
	i := g.Input("i", onnx.Int64, onnx.Shape{n, onnx.Fix(2)})
	top, at := g.TopK(x, 3, 1, true)
	tests := []struct {
		got  *onnx.Value
		want string
	}{
		{g.Add(x, v), "[n 4 6]"},
		{g.MatMul(x, v), "[n 4]"},
		{g.Reshape(x, -1, 6), "[4*n 6]"},
		{g.Reshape(x, 0, -1), "[n 24]"},
		{g.Reshape(x, -1, 8), "[3*n 8]"},
		{g.Reshape(x, -1, 5), "[(24*n/5) 5]"},
		{g.Reshape(g.Reshape(x, -1), -1, 24), "[n 24]"},
		{g.Transpose(x), "[6 4 n]"},
		{g.ReduceMax(x, true, -1), "[n 4 1]"},
		{g.ReduceMean(x, false, 0, 2), "[4]"},
		{g.ReduceSum(x, false), "[]"},
		{g.Concat(0, x, x), "[(n+n) 4 6]"},
		{g.Concat(1, x, x), "[n 8 6]"},
		{g.Slice(x, []int64{1, -2}, []int64{-1, 100}, []int64{1, 2}, nil), "[n 2 2]"},
		{g.Slice(x, []int64{5}, []int64{-100}, []int64{2}, []int64{-2}), "[n 4 3]"},
		{g.Slice(x, []int64{0}, []int64{2}, nil, nil), "[slice(n,0,2,1) 4 6]"},
		{g.Gather(x, i, 1), "[n n 2 6]"},
		{g.Gather(v, g.Scalar(onnx.Int64, 0), 0), "[]"},
		{g.Unsqueeze(v, 0, -1), "[1 6 1]"},
		{g.ShapeOf(x), "[3]"},
		{g.ArgMax(x, 1, false), "[n 6]"},
		{top, "[n 3 6]"},
		{at, "[n 3 6]"},
		{g.Split(x, 2, 1, 5)[1], "[n 4 5]"},
		{g.Pad(v, []int64{1}, []int64{2}), "[9]"},
		{g.Range(g.Scalar(onnx.Int64, 1), g.Scalar(onnx.Int64, 8), g.Scalar(onnx.Int64, 3)), "[3]"},
		{g.ExpandLike(v, x), "[n 4 6]"},
		{g.Where(g.Greater(x, v), x, v), "[n 4 6]"},
	}
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	for k, tt := range tests {
		if got := tt.got.Shape().String(); got != tt.want {
			t.Errorf("%d: shape %s, want %s", k, got, tt.want)
		}
	}
}

func TestBuildDropsAndSharesNodes(t *testing.T) {
	m := onnxtest.Affine(t)
	var ops []string
	for _, n := range m.Proto.Graph.Node {
		ops = append(ops, n.GetOpType())
	}
	if want := []string{"MatMul", "Add", "Add", "Identity"}; !slices.Equal(ops, want) {
		t.Errorf("nodes are %v, want %v", ops, want)
	}
	if n := len(m.Proto.Graph.Initializer); n != 2 {
		t.Errorf("%d constants, want 2", n)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"x": onnx.Float64s([]int64{2, 2}, []float64{1, 0, 0, 2})})
	if !slices.Equal(out["twice"].Float64s(), []float64{8, 22}) || !slices.Equal(out["same"].Float64s(), []float64{4, 11}) {
		t.Errorf("outputs are %v and %v", out["twice"].Float64s(), out["same"].Float64s())
	}
}

func TestSameCallsGiveSameBytes(t *testing.T) {
	a, err := onnxtest.Affine(t).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	b, err := onnxtest.Affine(t).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("bytes differ")
	}
	m, err := onnx.Parse(a)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := m.Marshal(); !bytes.Equal(a, c) {
		t.Error("bytes differ after reading")
	}
	if io := m.Inputs(); len(io) != 1 || io[0].Name != "x" || io[0].Shape.String() != "[n 2]" || io[0].DType != onnx.Float64 {
		t.Errorf("inputs are %v", io)
	}
	if meta := m.Metadata(); len(meta) != 2 || meta["a"] != "1" || meta["b"] != "2" {
		t.Errorf("metadata is %v", meta)
	}
}

func TestLoopCarriesAndCollects(t *testing.T) {
	g := onnx.NewGraph("loop")
	x := g.Input("x", onnx.Float64, onnx.Shape{onnx.Sym("n")})
	trips := g.Input("trips", onnx.Int64, nil)
	c := g.Exp(g.Scalar(onnx.Float64, 0))
	final, scans := g.Loop(trips, []*onnx.Value{x, x}, func(b *onnx.Graph, i *onnx.Value, s []*onnx.Value) (next, scan []*onnx.Value) {
		sum := b.Add(b.Add(s[0], s[1]), c) // c is captured
		return []*onnx.Value{s[1], sum}, []*onnx.Value{sum, i, x}
	})
	g.Output("a", final[0])
	g.Output("b", final[1])
	for i, name := range []string{"sums", "steps", "xs"} {
		g.Output(name, scans[i])
	}
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{
		"x": onnx.Float64s([]int64{1}, []float64{1}), "trips": onnx.Int64s(nil, []int64{4}),
	})
	if !slices.Equal(out["sums"].Float64s(), []float64{3, 5, 9, 15}) || !slices.Equal(out["steps"].Int64s(), []int64{0, 1, 2, 3}) {
		t.Errorf("sums %v, steps %v", out["sums"].Float64s(), out["steps"].Int64s())
	}
	if out["a"].Float64s()[0] != 9 || out["b"].Float64s()[0] != 15 || len(out["xs"].Float64s()) != 4 {
		t.Errorf("final %v and %v", out["a"].Float64s(), out["b"].Float64s())
	}
}

func TestLoopRefusesOtherShapes(t *testing.T) {
	g := onnx.NewGraph("loop")
	x := g.Input("x", onnx.Float64, onnx.Dims(2))
	var inner *onnx.Value
	g.Loop(g.Scalar(onnx.Int64, 1), []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, s []*onnx.Value) (next, scan []*onnx.Value) {
		inner = b.Neg(s[0])
		return []*onnx.Value{b.Concat(0, s[0], inner)}, nil
	})
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "starts as float64 [2] and becomes float64 [4]") {
		t.Errorf("error is %v", err)
	}
}

// An op that is not in the operator set is an error of Build.
func TestBuildRefusesOpsOfLaterSets(t *testing.T) {
	g := onnx.NewGraph("norm")
	x := g.Input("x", onnx.Float32, onnx.Dims(2, 3))
	c := g.Const(onnx.Float32s([]int64{3}, []float32{1, 2, 3}))
	g.Output("y", g.LayerNormalization(x, c, c, 1e-5))
	if _, err := g.Build(onnx.BuildOptions{Opset: 16}); err == nil || !strings.Contains(err.Error(), "LayerNormalization needs opset 17, not 16") {
		t.Error(err)
	}
	if _, err := g.Build(onnx.BuildOptions{}); err != nil {
		t.Error(err)
	}
}
