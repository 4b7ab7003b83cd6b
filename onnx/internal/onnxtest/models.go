// Package onnxtest has small models that several tests use.
package onnxtest

import (
	"testing"

	"pipe/onnx"
)

// Affine is a model of float64: y [n, 1] is x [n, 2] times (3, 5), and 1 more; twice is 2 y, same is y again.
func Affine(t testing.TB) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("affine")
	x := g.Input("x", onnx.Float64, onnx.Shape{onnx.Sym("n"), onnx.Fix(2)})
	w := g.NamedConst("w", onnx.Float64s([]int64{2, 1}, []float64{3, 5}))
	g.Exp(x) // no output needs it
	g.NamedConst("unused", onnx.Float64s(nil, []float64{1}))
	a := g.Add(g.MatMul(x, w), g.Scalar(onnx.Float64, 1))
	b := g.Add(g.MatMul(x, w), g.Scalar(onnx.Float64, 1))
	g.Output("y", a)
	g.Output("twice", g.Add(a, b))
	g.Output("same", a)
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.SetMetadata(map[string]string{"b": "2", "a": "1"})
	return m
}

// Head squares the output of affine; its names collide with those of affine.
func Head(t testing.TB, rows onnx.Dim, opset int64) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("head")
	x := g.Input("x", onnx.Float64, onnx.Shape{rows, onnx.Fix(1)})
	w := g.NamedConst("w", onnx.Float64s([]int64{1}, []float64{10}))
	s := g.Input("shift", onnx.Float64, nil)
	_, scans := g.Loop(g.Scalar(onnx.Int64, 2), []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, c []*onnx.Value) (next, scan []*onnx.Value) {
		v := b.Mul(c[0], w)
		return []*onnx.Value{v}, []*onnx.Value{v}
	})
	g.Output("z", g.Add(g.ReduceSum(scans[0], false, 0), s))
	g.Output("mean", g.ReduceMean(x, true, 0))
	m, err := g.Build(onnx.BuildOptions{Opset: opset})
	if err != nil {
		t.Fatal(err)
	}
	m.SetMetadata(map[string]string{"b": "head", "c": "3"})
	return m
}
