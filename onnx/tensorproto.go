package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

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
	var b []byte
	le := binary.LittleEndian
	switch t := DType(p.GetDataType()); t {
	case Float32:
		for _, v := range p.GetFloatData() {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	case Float64:
		for _, v := range p.GetDoubleData() {
			b = le.AppendUint64(b, math.Float64bits(v))
		}
	case Int64:
		for _, v := range p.GetInt64Data() {
			b = le.AppendUint64(b, uint64(v))
		}
	case Uint64:
		for _, v := range p.GetUint64Data() {
			b = le.AppendUint64(b, v)
		}
	case Uint32:
		for _, v := range p.GetUint64Data() {
			b = le.AppendUint32(b, uint32(v))
		}
	default:
		for _, v := range p.GetInt32Data() {
			b = appendNarrow(b, uint32(v), t.Size())
		}
	}
	return b
}

func appendNarrow(b []byte, v uint32, size int) []byte {
	for i := range size {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}
