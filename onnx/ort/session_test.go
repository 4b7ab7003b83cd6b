package ort

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestRun(t *testing.T) {
	s := openModel(t, openTest(t), sumModel(t, onnx.Float32))
	x := onnx.Float32s([]int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	got, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": x, "y": x})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*onnx.Tensor{
		"sum":   onnx.Float32s([]int64{2, 3}, []float32{2, 4, 6, 8, 10, 12}),
		"total": {DType: onnx.Float32, Raw: onnx.Float32s([]int64{1}, []float32{42}).Raw},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPingPong keeps a state in two buffers that trade places.
func TestPingPong(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, sumModel(t, onnx.Float32))
	newBuffer := func(shape ...int64) *Buffer {
		b, err := r.NewBuffer(onnx.Float32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	state, next, one, total := newBuffer(1, 3), newBuffer(1, 3), newBuffer(1, 3), newBuffer()
	copy(one.Float32s(), []float32{1, 2, 3})
	for range 100 {
		if err := s.RunBuffers(context.Background(), []*Buffer{state, one}, []*Buffer{next, total}); err != nil {
			t.Fatal(err)
		}
		state, next = next, state
	}
	if diff := cmp.Diff([]float32{100, 200, 300}, state.Float32s()); diff != "" {
		t.Error(diff)
	}
	if total.Float32s()[0] != 600 {
		t.Errorf("total is %v", total.Float32s())
	}
}
