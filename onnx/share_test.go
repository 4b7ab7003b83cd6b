package onnx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
)

// masked is a model with a hidden value and a mask, of another type on request.
func masked(t *testing.T, name string, mask onnx.DType, expr func(g *onnx.Graph, x, m *onnx.Value) *onnx.Value) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph(name)
	x := g.Input("x", onnx.Float64, onnx.Shape{onnx.Sym(name)})
	m := g.Input("mask", mask, onnx.Shape{onnx.Sym(name)})
	g.Output(name, expr(g, x, g.Cast(m, onnx.Float64)))
	out, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An input that both models have is one input of the merged model.
func TestMergeSharesInputs(t *testing.T) {
	add := func(g *onnx.Graph, x, m *onnx.Value) *onnx.Value { return g.Add(x, m) }
	times := func(g *onnx.Graph, x, m *onnx.Value) *onnx.Value { return g.Mul(x, m) }
	first := masked(t, "sum", onnx.Int64, add)
	o := onnx.DefaultMergeOptions()
	o.Share = []string{"mask"}
	m, err := onnx.Merge(first, masked(t, "product", onnx.Int64, times), map[string]string{"sum": "x"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(m.Inputs(), m.Outputs()); s != "[{x float64 [sum]} {mask int64 [sum]}] [{product float64 [sum]}]" {
		t.Error(s)
	}
	out, err := evaluate(m, map[string]*onnx.Tensor{
		"x": onnx.Float64s([]int64{2}, []float64{10, 20}), "mask": onnx.Int64s([]int64{2}, []int64{2, 3}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := out["product"].Float64s(); !slices.Equal(got, []float64{24, 69}) {
		t.Errorf("(x + mask) * mask is %v", got)
	}
	for want, second := range map[string]*onnx.Model{
		`shared input "mask": type int64 into int32`: masked(t, "product", onnx.Int32, times),
		`input "shift" is not one of both models`:    masked(t, "product", onnx.Int64, times),
	} {
		o.Share = []string{"mask"}
		if strings.Contains(want, "shift") {
			o.Share = []string{"shift"}
		}
		if _, err := onnx.Merge(first, second, map[string]string{"sum": "x"}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A model with some of its outputs leaves the first one as it was.
func TestWithOutputs(t *testing.T) {
	m := head(t, onnx.Sym("rows"), 17)
	one, err := m.WithOutputs("mean")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Check(); err != nil {
		t.Fatal(err)
	}
	one.SetMetadata(nil)
	if len(one.Outputs()) != 1 || one.Outputs()[0].Name != "mean" || len(m.Outputs()) != 2 || len(m.Metadata()) != 2 {
		t.Errorf("outputs %v of %v, metadata %v", one.Outputs(), m.Outputs(), m.Metadata())
	}
	if _, err := m.WithOutputs("median"); err == nil || !strings.Contains(err.Error(), `no output "median", it has ["mean" "z"]`) {
		t.Error(err)
	}
}

// An op that an operator set does not have is an error of Build.
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
