package ort

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"pipe/onnx"
)

func message(b []byte, num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), body)
}

func number(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

// externalWeight is a model message with only a float32 weight of n elements, stored in a file beside the model.
// Appended to another model's bytes it becomes part of that model's graph.
func externalWeight(name, file string, n uint64) []byte {
	tensor := number(number(nil, 1, n), 2, uint64(onnx.Float32))
	tensor = message(tensor, tensorName, []byte(name))
	tensor = message(tensor, 13, message(message(nil, 1, []byte("location")), 2, []byte(file)))
	tensor = number(tensor, 14, 1)
	return message(nil, modelGraph, message(nil, graphInit, tensor))
}

func scaleModel(t testing.TB) []byte {
	g := onnx.NewGraph("scale")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(3)})
	g.Output("y", g.Mul(x, g.Input("w", onnx.Float32, onnx.Dims(3))))
	return append(build(t, g), externalWeight("w", "weights.bin", 3)...)
}

func TestSessionFileWithExternalData(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "scale.onnx")
	weights := onnx.Float32s([]int64{3}, []float32{10, 100, 1000})
	for name, b := range map[string][]byte{path: scaleModel(t), filepath.Join(dir, "weights.bin"): weights.Raw} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := openTest(t)
	s, err := r.SessionFile(path, r.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x"}, names(s.Inputs())); diff != "" {
		t.Error(diff)
	}
	got, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{1, 3}, []float32{1, 2, 3})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(onnx.Float32s([]int64{1, 3}, []float32{10, 200, 3000}), got["y"]); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(dir, "weights.bin")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SessionFile(path, r.SessionOptions()); err == nil || !strings.Contains(err.Error(), "weights.bin") {
		t.Errorf("missing external data: %v", err)
	}
}

func TestSessionErrors(t *testing.T) {
	r := openTest(t)
	wrong := r.SessionOptions()
	wrong.Threads, wrong.Device = -1, "tpu"
	_, err := r.Session(sumModel(t), wrong)
	for _, want := range []string{"threads is -1", `device "tpu" is unknown`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	good := sumModel(t)
	for want, model := range map[string][]byte{
		"it has no graph": nil,
		"not an ONNX mod": []byte("%PDF-1.7 something else"),
		"malformed":       good[:len(good)-3],
		"at least one":    message(nil, modelGraph, message(nil, 2, []byte("empty"))),
	} {
		if _, err := r.Session(model, r.SessionOptions()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := r.SessionFile(filepath.Join(t.TempDir(), "absent.onnx"), r.SessionOptions()); !os.IsNotExist(errorsCause(err)) {
		t.Errorf("absent file: %v", err)
	}
}

// errorsCause follows Unwrap to the end.
func errorsCause(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

// TestHeaderSeeks reads a header and skips a large weight.
func TestHeaderSeeks(t *testing.T) {
	weight := message(nil, tensorName, []byte("w"))
	weight = message(weight, 9, make([]byte, 8<<20))
	model := append(message(nil, modelGraph, message(nil, graphInit, weight)), sumModel(t)...)
	counted := &countingReader{ReadSeeker: bytes.NewReader(model)}
	h, err := readHeader(counted, int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	if counted.n > 64<<10 {
		t.Errorf("read %d bytes", counted.n)
	}
	want := []onnx.IO{
		{Name: "sum", DType: onnx.Float32, Shape: onnx.Shape{onnx.Sym("rows"), onnx.Fix(3)}},
		{Name: "total", DType: onnx.Float32},
	}
	if diff := cmp.Diff(want, h.outputs); diff != "" {
		t.Error(diff)
	}
	plain, err := readHeader(io.MultiReader(bytes.NewReader(model)), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.outputs, plain.outputs); diff != "" {
		t.Errorf("a source that cannot seek reads differently: %s", diff)
	}
}

type countingReader struct {
	io.ReadSeeker
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.ReadSeeker.Read(b)
	c.n += n
	return n, err
}

func FuzzHeader(f *testing.F) {
	f.Add(sumModel(f))
	f.Add(scaleModel(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, model []byte) {
		seeking, err := readHeader(bytes.NewReader(model), int64(len(model)))
		plain, plainErr := readHeader(io.MultiReader(bytes.NewReader(model)), int64(len(model)))
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("seeking: %v, reading: %v", err, plainErr)
		}
		if err == nil && !cmp.Equal(seeking.outputs, plain.outputs) {
			t.Fatal("seeking and reading differ")
		}
	})
}

// A negative size in a file is an open one.
func TestNegativeSizesAreOpen(t *testing.T) {
	g := onnx.NewGraph("open")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Fix(-1), onnx.Fix(1)})
	g.Output("y", g.Add(x, x))
	r := openTest(t)
	s, err := r.Session(build(t, g), r.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if shape := s.Inputs()[0].Shape; shape[0].Known() {
		t.Errorf("shape %s", shape)
	}
	if _, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{2, 1}, []float32{1, 2})}); err != nil {
		t.Error(err)
	}
}
