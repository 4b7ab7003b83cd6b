package onnx_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"pipe/onnx"
	"pipe/onnx/onnxpb"
	"pipe/onnx/ort/orttest"
)

func TestTensorsHoldWhatTheyWereGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		shape := []int64{int64(n)}
		f := rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "float32")
		d := rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "float64")
		i := rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "int64")
		k := rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "int32")
		b := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "bool")
		if !slices.Equal(f, onnx.Float32s(shape, f).Float32s()) || !slices.Equal(d, onnx.Float64s(shape, d).Float64s()) ||
			!slices.Equal(i, onnx.Int64s(shape, i).Int64s()) || !slices.Equal(k, onnx.Int32s(shape, k).Int32s()) ||
			!slices.Equal(b, onnx.Bools(shape, b).Bools()) {
			t.Error("elements changed")
		}
	})
	for _, x := range []*onnx.Tensor{
		onnx.Uint8s([]int64{2, 1}, []uint8{1, 255}), {DType: onnx.String, Shape: []int64{2}, Text: []string{"a", "ü"}}, onnx.Float32s(nil, []float32{1}),
	} {
		if err := x.Validate(); err != nil {
			t.Error(err)
		}
	}
	bad := onnx.Int64s([]int64{3}, []int64{1, 2, 3})
	bad.Shape = []int64{4}
	if err := bad.Validate(); err == nil {
		t.Error("24 bytes pass for 4 elements of int64")
	}
}

// The format has two fields for data: raw bytes, and typed fields that widen small types.
func TestTensorFromTypedFields(t *testing.T) {
	tests := []struct {
		p    *onnxpb.TensorProto
		t    onnx.DType
		want []byte
	}{
		{&onnxpb.TensorProto{FloatData: []float32{1}}, onnx.Float32, []byte{0, 0, 0x80, 0x3f}},
		{&onnxpb.TensorProto{DoubleData: []float64{1}}, onnx.Float64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
		{&onnxpb.TensorProto{Int64Data: []int64{-2}}, onnx.Int64, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{&onnxpb.TensorProto{Uint64Data: []uint64{258}}, onnx.Uint64, []byte{2, 1, 0, 0, 0, 0, 0, 0}},
		{&onnxpb.TensorProto{Uint64Data: []uint64{258}}, onnx.Uint32, []byte{2, 1, 0, 0}},
		{&onnxpb.TensorProto{Int32Data: []int32{-2}}, onnx.Int32, []byte{0xfe, 0xff, 0xff, 0xff}},
		{&onnxpb.TensorProto{Int32Data: []int32{-2}}, onnx.Int8, []byte{0xfe}},
		{&onnxpb.TensorProto{Int32Data: []int32{1}}, onnx.Bool, []byte{1}},
		{&onnxpb.TensorProto{Int32Data: []int32{0x3c00}}, onnx.Float16, []byte{0, 0x3c}},
	}
	for _, tt := range tests {
		tt.p.Dims, tt.p.DataType = []int64{1}, proto.Int32(int32(tt.t))
		got, err := onnx.TensorFrom(tt.p)
		if err != nil || !slices.Equal(got.Raw, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.t, got, err, tt.want)
		}
		tt.p.Dims[0] = 2
		if _, err := onnx.TensorFrom(tt.p); err == nil || !strings.Contains(err.Error(), tt.t.String()) {
			t.Errorf("%s: error is %v", tt.t, err)
		}
	}
}

func TestLogicAndCustomOps(t *testing.T) {
	g := onnx.NewGraph("logic")
	x := g.Input("x", onnx.Float64, onnx.Dims(4))
	inside := g.And(g.Less(x, g.Scalar(onnx.Float64, 3)), g.Not(g.LessOrEqual(x, g.Scalar(onnx.Float64, 1))))
	g.Output("in", g.Cast(g.Or(inside, g.Equal(x, g.Scalar(onnx.Float64, 9))), onnx.Int64))
	g.Output("best", g.ArgMax(x, 0, true))
	g.Output("sum", g.Op("ReduceSumSquare", []*onnx.Value{x}, onnx.Float64, nil,
		onnx.Attr{Name: "axes", Value: []int64{0}}, onnx.Attr{Name: "keepdims", Value: int64(0)}))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"x": onnx.Float64s([]int64{4}, []float64{1, 2.5, 3, 9})})
	if !slices.Equal(out["in"].Int64s(), []int64{0, 1, 0, 1}) ||
		out["best"].Int64s()[0] != 3 || out["sum"].Float64s()[0] != 97.25 {
		t.Errorf("outputs are %v", out)
	}
	g.Op("Nothing", nil, onnx.Float64, nil, onnx.Attr{Name: "a", Value: 1})
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "attribute a has type int") {
		t.Errorf("error is %v", err)
	}
}
