package onnx

import "fmt"

// DType is an element type, with the numbers of TensorProto.DataType.
type DType int32

// The element types that this package builds and reads.
const (
	Undefined DType = 0
	Float32   DType = 1
	Uint8     DType = 2
	Int8      DType = 3
	Uint16    DType = 4
	Int16     DType = 5
	Int32     DType = 6
	Int64     DType = 7
	String    DType = 8
	Bool      DType = 9
	Float16   DType = 10
	Float64   DType = 11
	Uint32    DType = 12
	Uint64    DType = 13
	BFloat16  DType = 16
)

var dtypes = map[DType]struct {
	name string
	size int
}{
	Undefined: {"undefined", 0},
	Float32:   {"float32", 4},
	Uint8:     {"uint8", 1},
	Int8:      {"int8", 1},
	Uint16:    {"uint16", 2},
	Int16:     {"int16", 2},
	Int32:     {"int32", 4},
	Int64:     {"int64", 8},
	String:    {"string", 0},
	Bool:      {"bool", 1},
	Float16:   {"float16", 2},
	Float64:   {"float64", 8},
	Uint32:    {"uint32", 4},
	Uint64:    {"uint64", 8},
	BFloat16:  {"bfloat16", 2},
}

// String gives the numpy name of the type.
func (t DType) String() string {
	if d, ok := dtypes[t]; ok {
		return d.name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Size is the number of bytes of one element, 0 if it is not fixed or not known.
func (t DType) Size() int { return dtypes[t].size }

// IsFloat reports whether gradients exist for values of this type.
func (t DType) IsFloat() bool {
	return t == Float32 || t == Float64 || t == Float16 || t == BFloat16
}
