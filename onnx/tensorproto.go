package onnx

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/onnxpb"
)

// Proto is the form of t in a model file, with a name unless it is "". It shares the bytes of t; TensorFrom is the
// inverse.
func (t *Tensor) Proto(name string) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{DataType: proto.Int32(int32(t.DType)), Dims: t.Shape}
	if name != "" {
		p.Name = proto.String(name)
	}
	if t.DType == String {
		for _, s := range t.Text {
			p.StringData = append(p.StringData, []byte(s))
		}
		return p
	}
	p.RawData = t.Raw
	return p
}

// TensorFrom reads a constant of a model file from whichever field of TensorProto has its elements. Elements in another
// file are an error; ReadFile loads them first.
func TensorFrom(p *onnxpb.TensorProto) (*Tensor, error) {
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		return nil, fmt.Errorf("tensor %q: its data is in another file", p.GetName())
	}
	n, err := elementCount(p.GetDims())
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", p.GetName(), err)
	}
	t := &Tensor{DType: DType(p.GetDataType()), Shape: append([]int64{}, p.GetDims()...)}
	switch {
	case t.DType == String:
		for _, s := range p.GetStringData() {
			t.Text = append(t.Text, string(s))
		}
	case len(p.GetRawData()) > 0 || n == 0:
		t.Raw = p.GetRawData()
	default:
		t.Raw = typedData(p)
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", p.GetName(), err)
	}
	return t, nil
}

// typedData packs the typed fields, which store narrow types as int32.
func typedData(p *onnxpb.TensorProto) []byte {
	switch t := DType(p.GetDataType()); t {
	case Float32:
		return pack(p.GetFloatData())
	case Float64:
		return pack(p.GetDoubleData())
	case Int64:
		return pack(p.GetInt64Data())
	case Uint64:
		return pack(p.GetUint64Data())
	case Uint32:
		return narrow(p.GetUint64Data(), t.Size())
	default:
		return narrow(p.GetInt32Data(), t.Size())
	}
}

// narrow packs the lowest bytes of every number.
func narrow[T int32 | uint64](data []T, size int) []byte {
	var b []byte
	for _, v := range data {
		for i := range size {
			b = append(b, byte(v>>(8*i)))
		}
	}
	return b
}
