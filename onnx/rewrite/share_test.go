package rewrite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort/orttest"
	"pipe/onnx/rewrite"
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
	o := apart()
	o.Share = []string{"mask"}
	m, err := rewrite.Merge(first, masked(t, "product", onnx.Int64, times), map[string]string{"sum": "x"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(m.Inputs(), m.Outputs()); s != "[{x float64 [sum]} {mask int64 [sum]}] [{product float64 [sum]}]" {
		t.Error(s)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{
		"x": onnx.Float64s([]int64{2}, []float64{10, 20}), "mask": onnx.Int64s([]int64{2}, []int64{2, 3}),
	})
	if got := out["product"].Float64s(); !slices.Equal(got, []float64{24, 69}) {
		t.Errorf("(x + mask) * mask is %v", got)
	}
	for want, second := range map[string]*onnx.Model{
		`shared input "mask": type int64 into int32`: masked(t, "product", onnx.Int32, times),
		`input "shift" is not in both models`:        masked(t, "product", onnx.Int64, times),
	} {
		o.Share = []string{"mask"}
		if strings.Contains(want, "shift") {
			o.Share = []string{"shift"}
		}
		if _, err := rewrite.Merge(first, second, map[string]string{"sum": "x"}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
