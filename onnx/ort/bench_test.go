package ort

import (
	"context"
	"testing"

	"pipe/onnx"
)

// BenchmarkCall measures the overhead of one call: the graph adds six numbers.
func BenchmarkCall(b *testing.B) {
	r := openTest(b)
	s := openModel(b, r, sumModel(b))
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
	}{{"background", context.Background()}, {"cancellable", cancellable}} {
		b.Run("tensors/"+c.name, func(b *testing.B) { benchTensors(b, c.ctx, s) })
		b.Run("buffers/"+c.name, func(b *testing.B) { benchBuffers(b, c.ctx, r, s) })
	}
}

func benchTensors(b *testing.B, ctx context.Context, s *Session) {
	x := onnx.Float32s([]int64{1, 3}, []float32{1, 2, 3})
	inputs := map[string]*onnx.Tensor{"x": x, "y": x}
	for b.Loop() {
		if _, err := s.Run(ctx, inputs); err != nil {
			b.Fatal(err)
		}
	}
}

func benchBuffers(b *testing.B, ctx context.Context, r *Runtime, s *Session) {
	in := []*Buffer{newTestBuffer(b, r, 1, 3), newTestBuffer(b, r, 1, 3)}
	out := []*Buffer{newTestBuffer(b, r, 1, 3), newTestBuffer(b, r)}
	for b.Loop() {
		if err := s.RunBuffers(ctx, in, out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenSession(b *testing.B) {
	r := openTest(b)
	model := sumModel(b)
	for b.Loop() {
		if err := openModel(b, r, model).Close(); err != nil {
			b.Fatal(err)
		}
	}
}
