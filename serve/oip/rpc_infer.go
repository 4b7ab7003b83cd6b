package oip

import (
	"encoding/binary"
	"fmt"
	"math"

	"pipe/onnx"
	pb "pipe/serve/oip/inferencepb"
)

// rpcRequest converts a gRPC request, and shares its memory. raw reports whether its tensors are raw contents.
func rpcRequest(r *pb.ModelInferRequest) (q *request, raw bool, err error) {
	q = &request{model: r.GetModelName(), version: r.GetModelVersion(), id: r.GetId()}
	for name, value := range r.GetParameters() {
		if err := q.parameter(name, rpcParameter(value)); err != nil {
			return nil, false, err
		}
	}
	if len(r.GetInputs()) > maxTensors || len(r.GetOutputs()) > maxTensors {
		return nil, false, problemf(invalid, "the request has %d inputs and %d outputs, more than %d", len(r.GetInputs()), len(r.GetOutputs()), maxTensors)
	}
	contents := r.GetRawInputContents()
	if raw = len(contents) > 0; raw && len(contents) != len(r.GetInputs()) {
		return nil, false, problemf(invalid, "raw_input_contents has %d entries for %d inputs", len(contents), len(r.GetInputs()))
	}
	for i, in := range r.GetInputs() {
		for name, value := range in.GetParameters() {
			if err := checkParameter("input "+in.GetName(), name, rpcParameter(value)); err != nil {
				return nil, false, err
			}
		}
		t := tensor{name: in.GetName(), datatype: in.GetDatatype(), shape: in.GetShape()}
		switch {
		case raw && in.Contents != nil:
			return nil, false, problemf(invalid, "input %q has contents, but the request has raw_input_contents", in.GetName())
		case raw:
			t.elements = rawElements(contents[i])
		case in.Contents == nil:
			return nil, false, problemf(invalid, "input %q has neither contents nor raw_input_contents", in.GetName())
		default:
			t.elements = rpcElements{in.Contents}
		}
		q.inputs = append(q.inputs, t)
	}
	for _, out := range r.GetOutputs() {
		for name, value := range out.GetParameters() {
			if err := checkParameter("output "+out.GetName(), name, rpcParameter(value)); err != nil {
				return nil, false, err
			}
		}
		q.outputs = append(q.outputs, output{name: out.GetName()})
	}
	return q, raw, nil
}

func rpcParameter(p *pb.InferParameter) parameter {
	switch v := p.GetParameterChoice().(type) {
	case *pb.InferParameter_BoolParam:
		return v.BoolParam
	case *pb.InferParameter_Int64Param:
		return v.Int64Param
	case *pb.InferParameter_StringParam:
		return v.StringParam
	case *pb.InferParameter_DoubleParam:
		return v.DoubleParam
	case *pb.InferParameter_Uint64Param:
		return v.Uint64Param
	}
	return ""
}

// rpcElements are elements in the typed fields of a gRPC tensor.
type rpcElements struct{ *pb.InferTensorContents }

func (e rpcElements) read(t *onnx.Tensor, n int, m *memory) error {
	field, given := e.field(t.DType)
	if field == "" {
		return fmt.Errorf("%s has no field in contents: send it in raw_input_contents", datatypeOf(t.DType))
	}
	if others := e.all(); others != given {
		return fmt.Errorf("contents has %d elements in other fields than %s, that of %s", others-given, field, datatypeOf(t.DType))
	}
	if given != n {
		return fmt.Errorf("%s has %d elements, the shape has %d", field, given, n)
	}
	if t.DType == onnx.String {
		t.Text = make([]string, n)
		for i, b := range e.BytesContents {
			text, err := checkText(string(b), i)
			if err != nil {
				return err
			}
			t.Text[i] = text
		}
		return nil
	}
	t.Raw = m.bytes(n * t.DType.Size())
	return e.store(t)
}

// field returns the name and the length of the field for a datatype; "" for a datatype without a field.
func (e rpcElements) field(t onnx.DType) (string, int) {
	switch t {
	case onnx.Bool:
		return "bool_contents", len(e.BoolContents)
	case onnx.Int8, onnx.Int16, onnx.Int32:
		return "int_contents", len(e.IntContents)
	case onnx.Int64:
		return "int64_contents", len(e.Int64Contents)
	case onnx.Uint8, onnx.Uint16, onnx.Uint32:
		return "uint_contents", len(e.UintContents)
	case onnx.Uint64:
		return "uint64_contents", len(e.Uint64Contents)
	case onnx.Float32:
		return "fp32_contents", len(e.Fp32Contents)
	case onnx.Float64:
		return "fp64_contents", len(e.Fp64Contents)
	case onnx.String:
		return "bytes_contents", len(e.BytesContents)
	}
	return "", 0
}

// all returns the number of elements in all fields.
func (e rpcElements) all() int {
	return len(e.BoolContents) + len(e.IntContents) + len(e.Int64Contents) + len(e.UintContents) +
		len(e.Uint64Contents) + len(e.Fp32Contents) + len(e.Fp64Contents) + len(e.BytesContents)
}

// store writes the elements to t.Raw, which is large enough.
func (e rpcElements) store(t *onnx.Tensor) error {
	size := t.DType.Size()
	for i, v := range e.BoolContents {
		t.Raw[i] = 0
		if v {
			t.Raw[i] = 1
		}
	}
	for i, v := range e.IntContents {
		if shift := 32 - 8*size; v<<shift>>shift != v {
			return fmt.Errorf("element %d is %d, which is not an integer of %s", i, v, datatypeOf(t.DType))
		}
		putInteger(t.Raw, size, i, uint64(int64(v)))
	}
	for i, v := range e.UintContents {
		if shift := 32 - 8*size; v<<shift>>shift != v {
			return fmt.Errorf("element %d is %d, which is not an integer of %s", i, v, datatypeOf(t.DType))
		}
		putInteger(t.Raw, size, i, uint64(v))
	}
	for i, v := range e.Int64Contents {
		putInteger(t.Raw, size, i, uint64(v))
	}
	for i, v := range e.Uint64Contents {
		putInteger(t.Raw, size, i, v)
	}
	for i, v := range e.Fp32Contents {
		binary.LittleEndian.PutUint32(t.Raw[4*i:], math.Float32bits(v))
	}
	for i, v := range e.Fp64Contents {
		binary.LittleEndian.PutUint64(t.Raw[8*i:], math.Float64bits(v))
	}
	return nil
}

// rpcAnswer converts a response. Its tensors are raw contents if those of the request were, or if a datatype has no typed
// field.
func rpcAnswer(a *answer, raw bool) *pb.ModelInferResponse {
	out := &pb.ModelInferResponse{ModelName: a.model, ModelVersion: a.version, Id: a.id}
	if a.decisions != "" {
		out.Parameters = map[string]*pb.InferParameter{decisionsParameter: {ParameterChoice: &pb.InferParameter_StringParam{StringParam: a.decisions}}}
	}
	for _, o := range a.outputs {
		raw = raw || o.tensor.DType == onnx.Float16
	}
	for _, o := range a.outputs {
		t := &pb.ModelInferResponse_InferOutputTensor{Name: o.name, Datatype: datatypeOf(o.tensor.DType), Shape: o.tensor.Shape}
		out.Outputs = append(out.Outputs, t)
		if raw {
			out.RawOutputContents = append(out.RawOutputContents, rpcRaw(o.tensor))
		} else {
			t.Contents = rpcContents(o.tensor)
		}
	}
	return out
}

// rpcRaw returns the elements as raw contents. They share the memory of the tensor if possible.
func rpcRaw(t *onnx.Tensor) []byte {
	if t.DType == onnx.String {
		return appendRaw(make([]byte, 0, rawSize(t)), t)
	}
	return t.Raw
}

// rpcContents returns the elements in the typed field of their datatype.
func rpcContents(t *onnx.Tensor) *pb.InferTensorContents {
	c := &pb.InferTensorContents{}
	for i := range t.Len() {
		switch t.DType {
		case onnx.Bool:
			c.BoolContents = append(c.BoolContents, t.Raw[i] != 0)
		case onnx.Int8:
			c.IntContents = append(c.IntContents, int32(int8(t.Raw[i])))
		case onnx.Int16:
			c.IntContents = append(c.IntContents, int32(int16(binary.LittleEndian.Uint16(t.Raw[2*i:]))))
		case onnx.Int32:
			c.IntContents = append(c.IntContents, int32(binary.LittleEndian.Uint32(t.Raw[4*i:])))
		case onnx.Int64:
			c.Int64Contents = append(c.Int64Contents, int64(binary.LittleEndian.Uint64(t.Raw[8*i:])))
		case onnx.Uint8:
			c.UintContents = append(c.UintContents, uint32(t.Raw[i]))
		case onnx.Uint16:
			c.UintContents = append(c.UintContents, uint32(binary.LittleEndian.Uint16(t.Raw[2*i:])))
		case onnx.Uint32:
			c.UintContents = append(c.UintContents, binary.LittleEndian.Uint32(t.Raw[4*i:]))
		case onnx.Uint64:
			c.Uint64Contents = append(c.Uint64Contents, binary.LittleEndian.Uint64(t.Raw[8*i:]))
		case onnx.Float32:
			c.Fp32Contents = append(c.Fp32Contents, math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:])))
		case onnx.Float64:
			c.Fp64Contents = append(c.Fp64Contents, math.Float64frombits(binary.LittleEndian.Uint64(t.Raw[8*i:])))
		case onnx.String:
			c.BytesContents = append(c.BytesContents, []byte(t.Text[i]))
		}
	}
	return c
}
