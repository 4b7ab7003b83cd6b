package ort

import (
	"testing"

	"pipe/onnx"
)

func openTest(t testing.TB) *Runtime {
	t.Helper()
	r, err := Open(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func openModel(t testing.TB, r *Runtime, model []byte) *Session {
	t.Helper()
	o := r.SessionOptions()
	o.Threads = 1
	s, err := r.Session(model, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTestBuffer(t testing.TB, r *Runtime, shape ...int64) *Buffer {
	t.Helper()
	b, err := r.NewBuffer(onnx.Float32, shape...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func build(t testing.TB, g *onnx.Graph) []byte {
	t.Helper()
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sumModel: sum = x + y, rows x 3, and their total, a scalar.
func sumModel(t testing.TB) []byte {
	g := onnx.NewGraph("sum")
	shape := onnx.Shape{onnx.Sym("rows"), onnx.Fix(3)}
	sum := g.Add(g.Input("x", onnx.Float32, shape), g.Input("y", onnx.Float32, shape))
	g.Output("sum", sum)
	g.Output("total", g.ReduceSum(sum, false, 0, 1))
	return build(t, g)
}

// copyModel: y = x for any type and shape.
func copyModel(t testing.TB, dtype onnx.DType, shape onnx.Shape) []byte {
	g := onnx.NewGraph("copy")
	g.Output("y", g.Input("x", dtype, shape))
	return build(t, g)
}

// spinModel adds one to x trips times, so that a call can take any length of time.
func spinModel(t testing.TB) []byte {
	g := onnx.NewGraph("spin")
	trips := g.Input("trips", onnx.Int64, nil)
	x := g.Input("x", onnx.Float32, onnx.Dims(1))
	final, _ := g.Loop(trips, []*onnx.Value{x}, func(b *onnx.Graph, _ *onnx.Value, v []*onnx.Value) (next, scan []*onnx.Value) {
		return []*onnx.Value{b.Add(v[0], b.Const(onnx.Float32s([]int64{1}, []float32{1})))}, nil
	})
	g.Output("y", final[0])
	return build(t, g)
}

func scalar(v int64) *onnx.Tensor { return onnx.Int64s(nil, []int64{v}) }
