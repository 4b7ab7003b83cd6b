package ort

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pipe/onnx"
)

// TestPingPong keeps a state in two buffers that are swapped.
func TestPingPong(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, sumModel(t))
	state, next := newTestBuffer(t, r, 1, 3), newTestBuffer(t, r, 1, 3)
	step, total := newTestBuffer(t, r, 1, 3), newTestBuffer(t, r)
	copy(step.Float32s(), []float32{1, 2, 3})
	for range 100 {
		if err := s.RunBuffers(context.Background(), []*Buffer{state, step}, []*Buffer{next, total}); err != nil {
			t.Fatal(err)
		}
		state, next = next, state
	}
	if diff := cmp.Diff([]float32{100, 200, 300}, state.Float32s()); diff != "" {
		t.Error(diff)
	}
	if got := total.Float32s()[0]; got != 600 {
		t.Errorf("total is %v", got)
	}
}

func TestScalarBufferIsWrittenInPlace(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, copyModel(t, onnx.Float32, nil))
	x, y := newTestBuffer(t, r), newTestBuffer(t, r)
	for _, v := range []float32{1, -2, 3} {
		x.Float32s()[0] = v
		if err := s.RunBuffers(context.Background(), []*Buffer{x}, []*Buffer{y}); err != nil {
			t.Fatal(err)
		}
		if got := y.Float32s()[0]; got != v {
			t.Errorf("wrote %v, read %v", v, got)
		}
	}
}

func TestRunBuffersAllocates(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, sumModel(t))
	x, err := r.BufferOf(onnx.Float32s([]int64{2, 3}, []float32{1, 2, 3, 4, 5, 6}))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*Buffer, 2)
	if err := s.RunBuffers(context.Background(), []*Buffer{x, x}, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{2, 4, 6, 8, 10, 12}, out[0].Float32s()); diff != "" {
		t.Error(diff)
	}
	if got := out[1].Float32s(); len(out[1].Shape()) != 0 || got[0] != 42 {
		t.Errorf("total is %v of shape %v", got, out[1].Shape())
	}
	// An allocated output is a buffer like any other.
	if err := s.RunBuffers(context.Background(), []*Buffer{x, x}, out); err != nil {
		t.Error(err)
	}
}

func TestRunBuffersErrors(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, sumModel(t))
	x, y, total := newTestBuffer(t, r, 1, 3), newTestBuffer(t, r, 1, 3), newTestBuffer(t, r)
	shut := newTestBuffer(t, r, 1, 3)
	if err := errors.Join(shut.Close(), shut.Close()); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct{ in, out []*Buffer }{
		`got 1 inputs and 2 outputs`:              {[]*Buffer{x}, []*Buffer{y, total}},
		`input "y" is missing`:                    {[]*Buffer{x, nil}, []*Buffer{y, total}},
		`output "sum": buffer is being read`:      {[]*Buffer{x, x}, []*Buffer{x, total}},
		`output "total": buffer is being written`: {[]*Buffer{x, x}, []*Buffer{y, y}},
		`input "x": buffer already closed`:        {[]*Buffer{shut, x}, []*Buffer{y, total}},
		`run "model": `:                           {[]*Buffer{x, x}, []*Buffer{newTestBuffer(t, r, 2, 3), total}},
	} {
		err := s.RunBuffers(context.Background(), c.in, c.out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	// No failed call may keep a buffer reserved.
	if err := s.RunBuffers(context.Background(), []*Buffer{x, x}, []*Buffer{y, total}); err != nil {
		t.Error(err)
	}
}

func TestBufferTypes(t *testing.T) {
	r := openTest(t)
	if _, err := r.NewBuffer(onnx.String, 2); err == nil {
		t.Error("a string buffer is made")
	}
	if _, err := r.NewBuffer(onnx.Float32, 2, -1); err == nil {
		t.Error("a negative dimension is accepted")
	}
	if _, err := r.NewBuffer(onnx.Float64, 1<<31, 1<<31); err == nil {
		t.Error("a shape beyond memory is accepted")
	}
	if _, err := r.BufferOf(&onnx.Tensor{DType: onnx.Float32, Shape: []int64{3}, Raw: make([]byte, 4)}); err == nil {
		t.Error("too few bytes are accepted")
	}
	b, err := r.NewBuffer(onnx.Int64, 3)
	if err != nil {
		t.Fatal(err)
	}
	if b.Float32s() != nil || len(b.Int64s()) != 3 || len(b.Bytes()) != 24 {
		t.Error("views do not follow the type")
	}
}

// TestForgottenBuffer drops a buffer without Close; a view keeps its content.
func TestForgottenBuffer(t *testing.T) {
	r := openTest(t)
	b, err := r.NewBuffer(onnx.Float32, 4)
	if err != nil {
		t.Fatal(err)
	}
	mem, data := b.mem, b.Float32s()
	data[3] = 5
	b = nil
	freed := func() bool {
		mem.mu.Lock()
		defer mem.mu.Unlock()
		return mem.value == nil
	}
	for deadline := time.Now().Add(10 * time.Second); !freed(); {
		if time.Now().After(deadline) {
			t.Fatal("the native tensor was not freed")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if data[3] != 5 {
		t.Error("the view lost its content")
	}
}
