package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
	"pipe/onnx/ort/orttest"
	"pipe/onnx/rewrite"
)

// tail is head without an input besides x.
func tail(t testing.TB) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("tail")
	x := g.Input("x", onnx.Float64, onnx.Shape{onnx.Sym("n"), onnx.Fix(1)})
	w := g.NamedConst("w", onnx.Float64s([]int64{1}, []float64{10}))
	_, scans := g.Loop(g.Scalar(onnx.Int64, 2), []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, c []*onnx.Value) (next, scan []*onnx.Value) {
		v := b.Mul(c[0], w) // of the enclosing graph
		return []*onnx.Value{v}, []*onnx.Value{v}
	})
	g.Output("z", g.ReduceSum(scans[0], false, 0))
	g.Output("mean", g.ReduceMean(x, true, 0))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.SetMetadata(map[string]string{"b": "tail"})
	return m
}

func cut() rewrite.SplitOptions {
	return rewrite.SplitOptions{
		At: "first/y", Output: "y", Input: onnx.IO{Name: "x", DType: onnx.Float64, Shape: onnx.Shape{onnx.Sym("n"), onnx.Fix(1)}},
		FirstPrefix: "first/", SecondPrefix: "second/",
	}
}

// Split is the inverse of Merge: nodes, constants and names of both models are restored, and so are their results.
func TestSplitUndoesMerge(t *testing.T) {
	first, second := onnxtest.Affine(t), tail(t)
	m, err := rewrite.Merge(first, second, map[string]string{"y": "x"}, apart())
	if err != nil {
		t.Fatal(err)
	}
	a, b, err := rewrite.Split(m, cut())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(b.Proto.Graph.Node, second.Proto.Graph.Node, func(x, y *onnxpb.NodeProto) bool { return proto.Equal(x, y) }) ||
		!slices.EqualFunc(b.Proto.Graph.Initializer, second.Proto.Graph.Initializer, func(x, y *onnxpb.TensorProto) bool { return proto.Equal(x, y) }) {
		t.Errorf("the second half is %v\nnot %v", b.Proto.Graph, second.Proto.Graph)
	}
	x := map[string]*onnx.Tensor{"x": onnx.Float64s([]int64{2, 2}, []float64{1, 0, 0, 2})}
	want := orttest.Evaluate(t, m, x)
	mid := orttest.Evaluate(t, a, x)
	whole := orttest.Evaluate(t, first, x)
	got := orttest.Evaluate(t, b, map[string]*onnx.Tensor{"x": mid["y"]})
	if len(mid) != 1 || !slices.Equal(mid["y"].Float64s(), whole["y"].Float64s()) {
		t.Errorf("the first half makes %v, want %v", mid, whole["y"])
	}
	for name := range want {
		if !slices.Equal(got[name].Float64s(), want[name].Float64s()) {
			t.Errorf("%s is %v, want %v", name, got[name], want[name])
		}
	}
	if in := b.Inputs(); len(in) != 1 || in[0].Name != "x" || in[0].Shape.String() != "[n 1]" {
		t.Errorf("the second half takes %v", in)
	}
}

func TestSplitRefusals(t *testing.T) {
	plain := map[string]string{"y": "x"}
	alone, err := rewrite.Merge(onnxtest.Affine(t), tail(t), plain, apart())
	if err != nil {
		t.Fatal(err)
	}
	shifted, err := rewrite.Merge(onnxtest.Affine(t), onnxtest.Head(t, onnx.Sym("n"), 17), plain, apart())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    *onnx.Model
		at   string
		want string
	}{
		{alone, "first/absent", `no node computes "first/absent"`},
		{alone, "x", `no node computes "x"`},
		{alone, "first/w", `no node computes "first/w"`},
		{alone, "mean", `also needs the input "x"`},
		{shifted, "first/y", `also needs the input "shift"`},
	} {
		o := cut()
		o.At = c.at
		if _, _, err := rewrite.Split(c.m, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.at, err, c.want)
		}
	}
}
