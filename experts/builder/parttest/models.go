package parttest

import (
	"testing"

	"pipe/onnx"
)

// LinearModel writes an ONNX model that multiplies its flattened rows by weights, values per row x outputs. Its input x
// has the shape in, and its output is scores. An error ends the test.
func LinearModel(t testing.TB, file string, in onnx.Shape, weights [][]float32) {
	t.Helper()
	g := onnx.NewGraph("linear")
	var flat []float32
	for _, row := range weights {
		flat = append(flat, row...)
	}
	x := g.Input("x", onnx.Float32, in)
	w := g.Const(onnx.Float32s([]int64{int64(len(weights)), int64(len(weights[0]))}, flat))
	g.Output("scores", g.MatMul(g.Reshape(x, -1, int64(len(weights))), w))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(file); err != nil {
		t.Fatal(err)
	}
}
