package policies

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// wide opens a policy of 384 features and a hidden layer of 128.
func wide(b *testing.B, anyPrice bool) (*Set, []float32) {
	p := decidetest.Policy(384, 128)
	if anyPrice {
		p = decidetest.AnyPrice(384)
	}
	set := open(b, settings(write(b, b.TempDir(), "p", p)))
	r, x := rand.New(rand.NewPCG(4, 4)), make([]float32, 384)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return set, x
}

// BenchmarkDecide is one decision on 384 features, at once by some callers.
func BenchmarkDecide(b *testing.B) {
	for _, anyPrice := range []bool{false, true} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("any=%t/callers=%d", anyPrice, callers), func(b *testing.B) {
				set, x := wide(b, anyPrice)
				b.ReportAllocs()
				concurrently(b, callers, func() error {
					p, err := set.Acquire("")
					if err != nil {
						return err
					}
					defer p.Release()
					_, err = p.Decide(context.Background(), nil, x, 1)
					return err
				})
			})
		}
	}
}

// BenchmarkGraph is the same through the tensors of the graph.
func BenchmarkGraph(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			set, x := wide(b, false)
			p := acquire(b, set, "")
			in := map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{1, 384}, x)}
			b.ReportAllocs()
			concurrently(b, callers, func() error {
				_, err := p.Graph().Run(context.Background(), in)
				return err
			})
		})
	}
}

// BenchmarkSession is the run of the runtime alone.
func BenchmarkSession(b *testing.B) {
	path := write(b, b.TempDir(), "p", decidetest.Policy(384, 128))
	rt := orttest.Open(b, 1)
	s, err := rt.SessionFile(path, rt.SessionOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	in, err := rt.BufferOf(onnx.Float32s([]int64{1, 384}, make([]float32, 384)))
	if err != nil {
		b.Fatal(err)
	}
	out := make([]*ort.Buffer, 4)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.RunBuffers(context.Background(), []*ort.Buffer{in}, out); err != nil {
			b.Fatal(err)
		}
	}
}

// concurrently runs calls from some callers.
func concurrently(b *testing.B, callers int, call func() error) {
	var n atomic.Int64
	n.Store(int64(b.N))
	b.ResetTimer()
	done := make(chan error, callers)
	for range callers {
		go func() {
			for n.Add(-1) >= 0 {
				if err := call(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}
