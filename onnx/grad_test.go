package onnx_test

import (
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// ops lists the operators of the nodes that a model has in addition to those of the forward pass.
func ops(t *testing.T, g *onnx.Graph) []string {
	t.Helper()
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range m.Proto.Graph.Node {
		list = append(list, n.GetOpType())
	}
	return list
}

// The derivative of a linear layer under a mean loss is two products and one sum, without multiplication by one,
// stretched cotangents, or a derivative of the input.
func TestGradientsAreLean(t *testing.T) {
	g := onnx.NewGraph("layer")
	x := g.Input("x", onnx.Float32, onnx.Dims(5, 8, 3))
	w := g.Input("w", onnx.Float32, onnx.Dims(5, 3, 4))
	b := g.Input("b", onnx.Float32, onnx.Dims(5, 1, 4))
	y := g.Add(g.MatMul(x, w), b)
	loss := g.ReduceSum(g.Mul(y, y), false)
	grads, err := g.Gradients(loss, w, b)
	if err != nil {
		t.Fatal(err)
	}
	g.Output("dw", grads[0])
	g.Output("db", grads[1])
	want := []string{"MatMul", "Add", "Add", "ReduceSum", "Transpose", "MatMul"}
	got := ops(t, g)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("nodes are %v, want %v", got, want)
	}
}

func TestGradientOfUnrelatedValueIsZero(t *testing.T) {
	g := onnx.NewGraph("zero")
	x := g.Input("x", onnx.Float64, onnx.Dims(2))
	y := g.Input("y", onnx.Float64, onnx.Shape{onnx.Sym("n")})
	grads, err := g.Gradients(g.ReduceSum(g.Exp(x), false), y, g.StopGradient(x))
	if err != nil {
		t.Fatal(err)
	}
	g.Output("dy", grads[0])
	g.Output("dx", grads[1])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{
		"x": onnx.Float64s([]int64{2}, []float64{1, 2}), "y": onnx.Float64s([]int64{3}, []float64{1, 2, 3}),
	})
	if !slices.Equal(out["dy"].Float64s(), []float64{0, 0, 0}) || !slices.Equal(out["dx"].Float64s(), []float64{0, 0}) {
		t.Errorf("gradients are %v and %v", out["dy"].Float64s(), out["dx"].Float64s())
	}
}

func TestGradientNamesTheOpWithoutDerivative(t *testing.T) {
	g := onnx.NewGraph("none")
	x := g.Input("x", onnx.Float64, onnx.Dims(2))
	_, err := g.Gradients(g.ReduceSum(g.ReduceProd(x, true), false), x)
	if err == nil || !strings.Contains(err.Error(), "ReduceProd") {
		t.Errorf("error is %v", err)
	}
	trip := g.Scalar(onnx.Int64, 2)
	final, _ := g.Loop(trip, []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, c []*onnx.Value) (next, scan []*onnx.Value) {
		return []*onnx.Value{b.Exp(c[0])}, nil
	})
	if _, err := g.Gradients(final[0], x); err == nil || !strings.Contains(err.Error(), "Loop") {
		t.Errorf("error is %v", err)
	}
	if _, err := g.Gradients(g.ArgMax(x, 0, true), x); err == nil || !strings.Contains(err.Error(), "int64") {
		t.Errorf("error is %v", err)
	}
}

// Gradient descent inside a Loop: x <- x - d(x²)/dx / 4 halves x per step.
func TestGradientsInsideLoop(t *testing.T) {
	g := onnx.NewGraph("descent")
	x := g.Input("x", onnx.Float64, onnx.Dims(2))
	rate := g.Scalar(onnx.Float64, 0.25)
	final, scans := g.Loop(g.Scalar(onnx.Int64, 3), []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, c []*onnx.Value) (next, scan []*onnx.Value) {
		loss := b.ReduceSum(b.Mul(c[0], c[0]), false)
		d, err := b.Gradients(loss, c[0])
		if err != nil {
			t.Fatal(err)
		}
		return []*onnx.Value{b.Sub(c[0], b.Mul(rate, d[0]))}, []*onnx.Value{loss}
	})
	g.Output("x3", final[0])
	g.Output("losses", scans[0])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"x": onnx.Float64s([]int64{2}, []float64{8, -16})})
	if !slices.Equal(out["x3"].Float64s(), []float64{1, -2}) || !slices.Equal(out["losses"].Float64s(), []float64{320, 80, 20}) {
		t.Errorf("x is %v, losses %v", out["x3"].Float64s(), out["losses"].Float64s())
	}
}

// Finite differences are too inexact in float32, but the gradient of a linear map is exact.
func TestGradientThroughCast(t *testing.T) {
	g := onnx.NewGraph("cast")
	x := g.Input("x", onnx.Float64, onnx.Dims(2))
	three := g.Const(onnx.Float32s([]int64{2}, []float32{3, 5}))
	y := g.Cast(g.Mul(g.Cast(x, onnx.Float32), three), onnx.Float64)
	grads, err := g.Gradients(g.Add(y, g.Cast(g.Cast(x, onnx.Int64), onnx.Float64)), x)
	if err != nil {
		t.Fatal(err)
	}
	g.Output("dx", grads[0])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"x": onnx.Float64s([]int64{2}, []float64{1, 2})})
	if out["dx"].DType != onnx.Float64 || !slices.Equal(out["dx"].Float64s(), []float64{3, 5}) {
		t.Errorf("gradient is %v", out["dx"])
	}
}

// TestDepends: a value depends on another only along operations that have a derivative.
func TestDepends(t *testing.T) {
	g := onnx.NewGraph("test")
	x := g.Input("x", onnx.Float32, onnx.Dims(2, 3))
	y := g.Input("y", onnx.Float32, onnx.Dims(2, 3))
	scores := g.Mul(x, y)
	for name, c := range map[string]struct {
		v, x *onnx.Value
		want bool
	}{
		"itself":         {scores, scores, true},
		"through ops":    {g.ReduceSum(g.Reshape(g.Exp(scores), 6), false, 0), scores, true},
		"of an input":    {scores, x, true},
		"beside it":      {g.Neg(x), scores, false},
		"upwards":        {x, scores, false},
		"no gradient":    {g.Add(x, g.StopGradient(scores)), scores, false},
		"of the stopped": {g.Neg(g.StopGradient(scores)), scores, false},
	} {
		if got := onnx.Depends(c.v, c.x); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if err := g.Err(); err != nil {
		t.Error(err)
	}
}
