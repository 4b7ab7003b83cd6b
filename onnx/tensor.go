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

// newTensor packs data (row-major) into a tensor; it panics if the length does not match the shape.
func newTensor[T any](t DType, shape []int64, data []T) *Tensor {
	if int64(len(data)) != Elements(shape) {
		panic(fmt.Sprintf("onnx: %d values for shape %v", len(data), shape))
	}
	return &Tensor{DType: t, Shape: append([]int64{}, shape...), Raw: pack(data)}
}

// pack gives the bytes of numbers or booleans of a fixed size, little endian.
func pack[T any](data []T) []byte {
	raw, err := binary.Append([]byte{}, binary.LittleEndian, data)
	if err != nil {
		panic(fmt.Sprintf("onnx: %v", err)) // a type that has no fixed size
	}
	return raw
}

// Float32s copies data (row-major) into a tensor; it panics if the length does not match the shape. The other
// constructors do the same for their types.
func Float32s(shape []int64, data []float32) *Tensor { return newTensor(Float32, shape, data) }

// Float64s copies data into a float64 tensor.
func Float64s(shape []int64, data []float64) *Tensor { return newTensor(Float64, shape, data) }

// Int64s copies data into an int64 tensor.
func Int64s(shape, data []int64) *Tensor { return newTensor(Int64, shape, data) }

// Int32s copies data into an int32 tensor.
func Int32s(shape []int64, data []int32) *Tensor { return newTensor(Int32, shape, data) }

// Uint8s copies data into a uint8 tensor.
func Uint8s(shape []int64, data []uint8) *Tensor { return newTensor(Uint8, shape, data) }

// Bools copies data into a bool tensor.
func Bools(shape []int64, data []bool) *Tensor { return newTensor(Bool, shape, data) }

// unpack copies the elements of a tensor, which must have the type d.
func unpack[T any](t *Tensor, d DType) []T {
	if t.DType != d {
		panic(fmt.Sprintf("onnx: tensor holds %s, not %s", t.DType, d))
	}
	v := make([]T, len(t.Raw)/d.Size())
	if _, err := binary.Decode(t.Raw, binary.LittleEndian, v); err != nil {
		panic(fmt.Sprintf("onnx: %v", err)) // a type that has no fixed size
	}
	return v
}

// Float32s returns a copy of the elements; it panics if the tensor has another type, as do the other accessors.
func (t *Tensor) Float32s() []float32 { return unpack[float32](t, Float32) }

// Float64s returns a copy of the elements of a float64 tensor.
func (t *Tensor) Float64s() []float64 { return unpack[float64](t, Float64) }

// Int64s returns a copy of the elements of an int64 tensor.
func (t *Tensor) Int64s() []int64 { return unpack[int64](t, Int64) }

// Int32s returns a copy of the elements of an int32 tensor.
func (t *Tensor) Int32s() []int32 { return unpack[int32](t, Int32) }

// Bools returns a copy of the elements of a bool tensor.
func (t *Tensor) Bools() []bool { return unpack[bool](t, Bool) }

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
