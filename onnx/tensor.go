package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Tensor is an array in Go memory: row-major, little endian, without gaps.
// Raw holds Elements(Shape) * DType.Size() bytes. String tensors use Text
// instead. A tensor given to a graph is shared with it and must not change.
type Tensor struct {
	DType DType
	Shape []int64
	Raw   []byte
	Text  []string // elements of a String tensor
}

// Elements is the product of the sizes, 1 for a scalar.
func Elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Len is the number of elements.
func (t *Tensor) Len() int { return int(Elements(t.Shape)) }

// Validate checks that the size of the data matches type and shape.
func (t *Tensor) Validate() error {
	n, err := elementCount(t.Shape)
	if err != nil {
		return err
	}
	if t.DType == String {
		if int64(len(t.Text)) != n {
			return fmt.Errorf("%d strings for shape %v", len(t.Text), t.Shape)
		}
		return nil
	}
	size := int64(t.DType.Size())
	if size == 0 {
		return fmt.Errorf("element %s is not supported", t.DType)
	}
	if n > math.MaxInt64/size || int64(len(t.Raw)) != n*size {
		return fmt.Errorf("%d bytes for %s of shape %v", len(t.Raw), t.DType, t.Shape)
	}
	return nil
}

// elementCount multiplies sizes from untrusted input: negative sizes and overflowing products are errors.
func elementCount(shape []int64) (int64, error) {
	n, zero := int64(1), false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("negative size in shape %v", shape)
		case d == 0:
			zero = true
		case n > math.MaxInt64/d:
			return 0, fmt.Errorf("shape %v is too large", shape)
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

func makeTensor(t DType, shape []int64, n int) *Tensor {
	if int64(n) != Elements(shape) {
		panic(fmt.Sprintf("onnx: %d values for shape %v", n, shape))
	}
	s := make([]int64, len(shape))
	copy(s, shape)
	return &Tensor{DType: t, Shape: s, Raw: make([]byte, n*t.Size())}
}

// Float32s copies data (row-major) into a tensor; it panics if the length does not match the shape. The other
// constructors do the same for their types.
func Float32s(shape []int64, data []float32) *Tensor {
	t := makeTensor(Float32, shape, len(data))
	for i, v := range data {
		binary.LittleEndian.PutUint32(t.Raw[4*i:], math.Float32bits(v))
	}
	return t
}

// Float64s copies data into a float64 tensor.
func Float64s(shape []int64, data []float64) *Tensor {
	t := makeTensor(Float64, shape, len(data))
	for i, v := range data {
		binary.LittleEndian.PutUint64(t.Raw[8*i:], math.Float64bits(v))
	}
	return t
}

// Int64s copies data into an int64 tensor.
func Int64s(shape []int64, data []int64) *Tensor {
	t := makeTensor(Int64, shape, len(data))
	for i, v := range data {
		binary.LittleEndian.PutUint64(t.Raw[8*i:], uint64(v))
	}
	return t
}

// Int32s copies data into an int32 tensor.
func Int32s(shape []int64, data []int32) *Tensor {
	t := makeTensor(Int32, shape, len(data))
	for i, v := range data {
		binary.LittleEndian.PutUint32(t.Raw[4*i:], uint32(v))
	}
	return t
}

// Uint8s copies data into a uint8 tensor.
func Uint8s(shape []int64, data []uint8) *Tensor {
	t := makeTensor(Uint8, shape, len(data))
	copy(t.Raw, data)
	return t
}

// Bools copies data into a bool tensor.
func Bools(shape []int64, data []bool) *Tensor {
	t := makeTensor(Bool, shape, len(data))
	for i, v := range data {
		if v {
			t.Raw[i] = 1
		}
	}
	return t
}

// Strings copies data into a string tensor.
func Strings(shape []int64, data []string) *Tensor {
	t := makeTensor(String, shape, len(data))
	t.Text = append([]string(nil), data...)
	return t
}

func (t *Tensor) want(d DType) {
	if t.DType != d {
		panic(fmt.Sprintf("onnx: tensor holds %s, not %s", t.DType, d))
	}
}

// Float32s returns a copy of the elements; it panics if the tensor has another type, as do the other accessors.
func (t *Tensor) Float32s() []float32 {
	t.want(Float32)
	v := make([]float32, len(t.Raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:]))
	}
	return v
}

// Float64s returns a copy of the elements of a float64 tensor.
func (t *Tensor) Float64s() []float64 {
	t.want(Float64)
	v := make([]float64, len(t.Raw)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(t.Raw[8*i:]))
	}
	return v
}

// Int64s returns a copy of the elements of an int64 tensor.
func (t *Tensor) Int64s() []int64 {
	t.want(Int64)
	v := make([]int64, len(t.Raw)/8)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(t.Raw[8*i:]))
	}
	return v
}

// Int32s returns a copy of the elements of an int32 tensor.
func (t *Tensor) Int32s() []int32 {
	t.want(Int32)
	v := make([]int32, len(t.Raw)/4)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(t.Raw[4*i:]))
	}
	return v
}

// Bools returns a copy of the elements of a bool tensor.
func (t *Tensor) Bools() []bool {
	t.want(Bool)
	v := make([]bool, len(t.Raw))
	for i := range v {
		v[i] = t.Raw[i] != 0
	}
	return v
}

// scalarTensor is the rank-0 tensor of type d with value v.
func scalarTensor(d DType, v float64) (*Tensor, error) {
	switch d {
	case Float32:
		return Float32s(nil, []float32{float32(v)}), nil
	case Float64:
		return Float64s(nil, []float64{v}), nil
	case Int64:
		return Int64s(nil, []int64{int64(v)}), nil
	case Int32:
		return Int32s(nil, []int32{int32(v)}), nil
	case Bool:
		return Bools(nil, []bool{v != 0}), nil
	default:
		return nil, fmt.Errorf("scalar of type %s is not supported", d)
	}
}

// scalarValue reads a tensor of one element, of any rank.
func scalarValue(t *Tensor) (float64, bool) {
	if t == nil || Elements(t.Shape) != 1 {
		return 0, false
	}
	switch t.DType {
	case Float32:
		return float64(t.Float32s()[0]), true
	case Float64:
		return t.Float64s()[0], true
	case Int64:
		return float64(t.Int64s()[0]), true
	default:
		return 0, false
	}
}
