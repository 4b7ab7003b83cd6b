package ort

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"testing"

	"pipe/onnx"
)

// residentMemory is the memory of the process, in bytes.
func residentMemory(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("measures memory through /proc: ", err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// TestNoLeak opens, runs and closes 1,000 times; a leak of one tensor of
// 16 KiB per cycle would show as 16 MiB.
func TestNoLeak(t *testing.T) {
	model := sumModel(t)
	x := onnx.Float32s([]int64{1365, 3}, make([]float32, 4095))
	for range 100 {
		cycle(t, model, x)
	}
	before := residentMemory(t)
	for range 1000 {
		cycle(t, model, x)
	}
	if grown := residentMemory(t) - before; grown > 8<<20 {
		t.Errorf("1,000 cycles grew the process by %d KiB", grown>>10)
	} else {
		t.Logf("1,000 cycles: %+d KiB", grown>>10)
	}
}

func cycle(t *testing.T, model []byte, x *onnx.Tensor) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := Open(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := openModel(t, r, model)
	if _, err := s.Run(ctx, map[string]*onnx.Tensor{"x": x, "y": x}); err != nil {
		t.Fatal(err)
	}
	// A failing call must not leak either.
	if _, err := s.Run(ctx, map[string]*onnx.Tensor{"x": x, "y": onnx.Float32s([]int64{2, 3}, make([]float32, 6))}); err == nil {
		t.Fatal("shapes that do not fit are added")
	}
	in, err := r.BufferOf(x)
	if err != nil {
		t.Fatal(err)
	}
	buffers := []*Buffer{nil, nil, in}
	if err := s.RunBuffers(ctx, []*Buffer{in, in}, buffers[:2]); err != nil {
		t.Fatal(err)
	}
	for _, b := range buffers {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("counts threads through /proc: ", err)
	}
	return len(entries)
}

// TestThreads counts the threads that eight sessions add to the process. The Go runtime may start a thread in the
// meantime, so the limits leave room.
func TestThreads(t *testing.T) {
	r := openTest(t)
	added := func(n int) int {
		before := threads(t)
		o := r.SessionOptions()
		o.Threads = n
		for range 8 {
			if _, err := r.Session(sumModel(t), o); err != nil {
				t.Fatal(err)
			}
		}
		return threads(t) - before
	}
	if n := added(1); n > 4 {
		t.Errorf("eight one-thread sessions started %d threads", n)
	}
	if n := added(3); n < 16 {
		t.Errorf("eight three-thread sessions started only %d threads", n)
	}
}

func TestDenormalsAsZero(t *testing.T) {
	r := openTest(t)
	g := onnx.NewGraph("tiny")
	x := g.Input("x", onnx.Float32, onnx.Dims(4))
	g.Output("y", g.Mul(x, g.Const(onnx.Float32s([]int64{1}, []float32{0.5}))))
	model := build(t, g)
	tiny := math.Float32frombits(0x00800000) // half of it is denormal
	inputs := map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{4}, []float32{tiny, tiny, tiny, tiny})}
	for _, flush := range []bool{false, true} {
		o := r.SessionOptions()
		o.Threads, o.DenormalsAsZero = 1, flush
		s, err := r.Session(model, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Run(context.Background(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		if y := got["y"].Float32s()[0]; (y == 0) != flush {
			t.Errorf("flush %v: %v", flush, y)
		}
	}
}
