package ort

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pipe/onnx"
)

func TestRunSum(t *testing.T) {
	s := openModel(t, openTest(t), sumModel(t))
	x := onnx.Float32s([]int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	inputs := map[string]*onnx.Tensor{"x": x, "y": x}
	got, err := s.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*onnx.Tensor{
		"sum":   onnx.Float32s([]int64{2, 3}, []float32{2, 4, 6, 8, 10, 12}),
		"total": onnx.Float32s(nil, []float32{42}),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestRunTypes(t *testing.T) {
	r := openTest(t)
	square := []int64{2, 2}
	for _, x := range []*onnx.Tensor{
		onnx.Float32s(square, []float32{1, -2, 3, 4}), onnx.Float32s(nil, []float32{7}),
		onnx.Float64s(square, []float64{1, -2, 3, 4}), onnx.Float64s(nil, []float64{7}),
		onnx.Int64s(square, []int64{1, -2, 3, 4}), onnx.Int64s(nil, []int64{7}),
		onnx.Int32s(square, []int32{1, -2, 3, 4}), onnx.Int32s(nil, []int32{7}),
		onnx.Uint8s(square, []uint8{1, 2, 3, 255}), onnx.Uint8s(nil, []uint8{7}),
		onnx.Bools(square, []bool{true, false, true, true}), onnx.Bools(nil, []bool{true}),
		{DType: onnx.String, Shape: square, Text: []string{"a", "", "ü", "long enough for the heap"}},
		onnx.Float32s([]int64{0, 3}, nil), onnx.Int64s([]int64{0}, nil),
	} {
		var shape onnx.Shape
		for range x.Shape {
			shape = append(shape, onnx.Sym("n"+string(rune('a'+len(shape)))))
		}
		s := openModel(t, r, copyModel(t, x.DType, shape))
		got, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": x})
		if err != nil {
			t.Errorf("%v %v: %v", x.DType, x.Shape, err)
			continue
		}
		if diff := cmp.Diff(x, got["y"], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v %v: %s", x.DType, x.Shape, diff)
		}
	}
}

// TestRunUnaligned feeds a tensor whose bytes start at an odd address.
func TestRunUnaligned(t *testing.T) {
	s := openModel(t, openTest(t), copyModel(t, onnx.Float64, onnx.Dims(2)))
	want := onnx.Float64s([]int64{2}, []float64{1.5, -2.5})
	x := &onnx.Tensor{DType: want.DType, Shape: want.Shape, Raw: append(make([]byte, 1, 32), want.Raw...)[1:]}
	got, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got["y"]); diff != "" {
		t.Error(diff)
	}
}

func TestSessionOutputs(t *testing.T) {
	r := openTest(t)
	o := r.SessionOptions()
	o.Outputs = []string{"total"}
	s, err := r.Session(sumModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(s.Outputs()); !cmp.Equal(got, o.Outputs) {
		t.Errorf("outputs are %q", got)
	}
	o.Outputs = []string{"mean"}
	if _, err := r.Session(sumModel(t), o); err == nil || !strings.Contains(err.Error(), `has no output "mean"`) {
		t.Errorf("error is %v", err)
	}
}

func TestRunErrors(t *testing.T) {
	s := openModel(t, openTest(t), sumModel(t))
	good := onnx.Float32s([]int64{1, 3}, []float32{1, 2, 3})
	for want, inputs := range map[string]map[string]*onnx.Tensor{
		`input "y" is missing`:       {"x": good},
		`has no input "z"`:           {"x": good, "y": good, "z": good},
		`input "x": 4 bytes`:         {"x": {DType: onnx.Float32, Shape: []int64{1, 3}, Raw: make([]byte, 4)}, "y": good},
		`Unexpected input data type`: {"x": onnx.Int64s([]int64{1, 3}, []int64{1, 2, 3}), "y": good},
		`invalid dimensions`:         {"x": onnx.Float32s([]int64{1, 4}, make([]float32, 4)), "y": good},
	} {
		_, err := s.Run(context.Background(), inputs)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestConcurrentRuns(t *testing.T) {
	s := openModel(t, openTest(t), sumModel(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := float32(i)
			x := onnx.Float32s([]int64{1, 3}, []float32{v, v, v})
			for range 200 {
				got, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": x, "y": x})
				if err != nil || got["total"].Float32s()[0] != 6*v {
					t.Errorf("run %d: %v, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func spinInputs(trips int64) map[string]*onnx.Tensor {
	return map[string]*onnx.Tensor{"trips": scalar(trips), "x": onnx.Float32s([]int64{1}, []float32{0})}
}

const forever = int64(1) << 40

func TestCancel(t *testing.T) {
	s := openModel(t, openTest(t), spinModel(t))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.Run(ctx, spinInputs(forever)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("the call went on for %v", d)
	}
	if _, err := s.Run(ctx, spinInputs(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a dead context starts a call: %v", err)
	}
	live, stop := context.WithCancel(context.Background())
	defer stop()
	got, err := s.Run(live, spinInputs(5))
	if err != nil || got["y"].Float32s()[0] != 5 {
		t.Errorf("after a cancelled call: %v, %v", got, err)
	}
}

func TestCloseWaits(t *testing.T) {
	r := openTest(t)
	s := openModel(t, r, spinModel(t))
	ctx, cancel := context.WithCancel(context.Background())
	var ended, closed sync.WaitGroup
	running := make(chan struct{})
	ended.Go(func() {
		close(running)
		if _, err := s.Run(ctx, spinInputs(forever)); !errors.Is(err, context.Canceled) {
			t.Errorf("running call: %v", err)
		}
	})
	<-running
	time.Sleep(20 * time.Millisecond)
	done := make(chan struct{})
	closed.Go(func() {
		defer close(done)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-done:
		t.Error("Close did not wait for the running call")
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := s.Run(context.Background(), spinInputs(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("new work on a closing session: %v", err)
	}
	cancel()
	ended.Wait()
	closed.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestRuntimeClose(t *testing.T) {
	r, err := Open(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := openModel(t, r, sumModel(t))
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), nil); err == nil {
		t.Error("a session outlives its runtime")
	}
	if _, err := r.Session(sumModel(t), r.SessionOptions()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed runtime opens a session: %v", err)
	}
}
