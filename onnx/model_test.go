package onnx_test

import (
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
)

// TestWithConstants: an input becomes a constant, which no caller can override.
func TestWithConstants(t *testing.T) {
	g := onnx.NewGraph("g")
	x, y := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(2)}), g.Input("y", onnx.Float32, onnx.Shape{onnx.Sym("rows"), onnx.Fix(2)})
	g.Output("z", g.Mul(x, g.AssumeShape(y, onnx.Dims(1, 2))))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	half := onnx.Float32s([]int64{1, 2}, []float32{0.5, 2})
	one, err := m.WithConstants(map[string]*onnx.Tensor{"y": half})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Check(); err != nil {
		t.Error(err)
	}
	if in := one.Proto.GetGraph().GetInput(); len(in) != 1 || in[0].GetName() != "x" || len(one.Inputs()) != 1 {
		t.Errorf("inputs %v", in)
	}
	if len(m.Inputs()) != 2 || len(m.Proto.GetGraph().GetInitializer()) != 0 {
		t.Error("the model changed")
	}
	for want, values := range map[string]map[string]*onnx.Tensor{
		`no input "w", it has ["x" "y"]`: {"w": half},
		`the constant is float32 [1 3]`:  {"y": onnx.Float32s([]int64{1, 3}, make([]float32, 3))},
		`the constant is float32 [2]`:    {"y": onnx.Float32s([]int64{2}, make([]float32, 2))},
		`the constant is bool [1 2]`:     {"y": onnx.Bools([]int64{1, 2}, make([]bool, 2))},
	} {
		if _, err := m.WithConstants(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Selecting outputs of a model does not change the original.
func TestWithOutputs(t *testing.T) {
	m := onnxtest.Head(t, onnx.Sym("rows"), 17)
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
