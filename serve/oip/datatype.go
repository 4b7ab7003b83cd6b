package oip

import (
	"pipe/onnx"
	"pipe/serve/oip/inferencepb"
)

// datatypes are the element types of the protocol.
var datatypes = []struct {
	name   string
	dtype  onnx.DType
	triton inferencepb.DataType
}{
	{"BOOL", onnx.Bool, inferencepb.DataType_TYPE_BOOL},
	{"UINT8", onnx.Uint8, inferencepb.DataType_TYPE_UINT8},
	{"UINT16", onnx.Uint16, inferencepb.DataType_TYPE_UINT16},
	{"UINT32", onnx.Uint32, inferencepb.DataType_TYPE_UINT32},
	{"UINT64", onnx.Uint64, inferencepb.DataType_TYPE_UINT64},
	{"INT8", onnx.Int8, inferencepb.DataType_TYPE_INT8},
	{"INT16", onnx.Int16, inferencepb.DataType_TYPE_INT16},
	{"INT32", onnx.Int32, inferencepb.DataType_TYPE_INT32},
	{"INT64", onnx.Int64, inferencepb.DataType_TYPE_INT64},
	{"FP16", onnx.Float16, inferencepb.DataType_TYPE_FP16},
	{"FP32", onnx.Float32, inferencepb.DataType_TYPE_FP32},
	{"FP64", onnx.Float64, inferencepb.DataType_TYPE_FP64},
	{"BYTES", onnx.String, inferencepb.DataType_TYPE_STRING},
}

// datatypeOf returns the name of an element type in the protocol; empty if the protocol does not have it.
func datatypeOf(t onnx.DType) string {
	for i := range datatypes {
		if datatypes[i].dtype == t {
			return datatypes[i].name
		}
	}
	return ""
}

// dtypeOf returns the element type with a name; false if the protocol does not have it.
func dtypeOf(name string) (onnx.DType, bool) {
	for i := range datatypes {
		if datatypes[i].name == name {
			return datatypes[i].dtype, true
		}
	}
	return onnx.Undefined, false
}

// tritonType returns Triton's constant for an element type.
func tritonType(t onnx.DType) inferencepb.DataType {
	for i := range datatypes {
		if datatypes[i].dtype == t {
			return datatypes[i].triton
		}
	}
	return inferencepb.DataType_TYPE_INVALID
}
