package ort

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"unsafe"

	yort "github.com/yalue/onnxruntime_go"

	"pipe/onnx"
)

// count is the number of elements of shape, or an error if a dimension is negative or the product overflows.
func count(shape []int64) (int, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d > 0 && n > math.MaxInt/16/d {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= d
	}
	return int(n), nil
}

// allocate returns n zero bytes aligned for every element type.
func allocate(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// wrap makes a native tensor over data, which stays Go memory. It is pinned until the pinner releases it, because the
// native side keeps its address. A rank-0 tensor is always a copy; the bytes to use are returned.
func wrap(t onnx.DType, shape []int64, data []byte, pin *runtime.Pinner) (yort.Value, []byte, error) {
	if len(shape) == 0 {
		return wrapScalar(t, data, pin)
	}
	backing := data
	if len(backing) == 0 {
		backing = make([]byte, 8) // the binding needs an address even for no elements
	}
	pin.Pin(&backing[0])
	v, err := yort.NewCustomDataTensor(shape, backing, yort.TensorElementDataType(t))
	return v, data, err
}

// wrapScalar exists because the binding has a separate type for rank 0.
func wrapScalar(t onnx.DType, data []byte, pin *runtime.Pinner) (yort.Value, []byte, error) {
	switch t {
	case onnx.Float32:
		return newScalar[float32](data, pin)
	case onnx.Float64:
		return newScalar[float64](data, pin)
	case onnx.Int64:
		return newScalar[int64](data, pin)
	case onnx.Int32:
		return newScalar[int32](data, pin)
	case onnx.Uint8:
		return newScalar[uint8](data, pin)
	case onnx.Int8:
		return newScalar[int8](data, pin)
	case onnx.Bool:
		return newScalar[bool](data, pin)
	}
	return nil, nil, fmt.Errorf("scalars of type %v are not supported", t)
}

func newScalar[T yort.TensorData](data []byte, pin *runtime.Pinner) (yort.Value, []byte, error) {
	s, err := yort.NewEmptyScalar[T]()
	if err != nil {
		return nil, nil, err
	}
	// Scalar.Set replaces the Go slice and leaves the native tensor with the
	// old one, so the storage itself has to be written.
	p := reflect.ValueOf(s).Elem().FieldByName("data").UnsafePointer()
	pin.Pin((*T)(p))
	var zero T
	storage := unsafe.Slice((*byte)(p), unsafe.Sizeof(zero))
	copy(storage, data)
	return s, storage, nil
}

// wrapText copies strings into a native tensor.
func wrapText(t *onnx.Tensor) (yort.Value, error) {
	if len(t.Shape) == 0 {
		return nil, fmt.Errorf("scalars of type %v are not supported", t.DType)
	}
	v, err := yort.NewStringTensor(t.Shape)
	if err != nil {
		return nil, err
	}
	if err := v.SetContents(t.Text); err != nil {
		return nil, errors.Join(err, v.Destroy())
	}
	return v, nil
}

// unwrap returns the type, shape and bytes of a tensor that the runtime allocated. The binding has already copied it
// into Go memory, which outlives the native tensor.
func unwrap(v yort.Value) (onnx.DType, []int64, []byte, error) {
	switch t := v.(type) {
	case *yort.Tensor[float32]:
		return onnx.Float32, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[float64]:
		return onnx.Float64, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[int64]:
		return onnx.Int64, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[int32]:
		return onnx.Int32, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[uint8]:
		return onnx.Uint8, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[int8]:
		return onnx.Int8, t.GetShape(), bytesOf(t.GetData()), nil
	case *yort.Tensor[bool]:
		return onnx.Bool, t.GetShape(), bytesOf(t.GetData()), nil
	}
	return 0, nil, nil, fmt.Errorf("is a %T, which is not supported: cast it in the graph", v)
}

func bytesOf[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

func viewOf[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}
