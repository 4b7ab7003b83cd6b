package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// ToFloat32 is t with its elements as float32; it is t itself if they already are. Float16 and bfloat16 convert
// exactly, float64 rounds to the nearest. A finite number that is too large is an error, and so are elements that are
// not floats.
func (t *Tensor) ToFloat32() (*Tensor, error) {
	if t.DType == Float32 {
		return t, nil
	}
	n := t.Len()
	out := make([]float32, n)
	le := binary.LittleEndian
	switch t.DType {
	case Float16:
		for i := range out {
			out[i] = float16(le.Uint16(t.Raw[2*i:]))
		}
	case BFloat16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(le.Uint16(t.Raw[2*i:])) << 16)
		}
	case Float64:
		for i := range out {
			v := math.Float64frombits(le.Uint64(t.Raw[8*i:]))
			if out[i] = float32(v); math.IsInf(float64(out[i]), 0) && !math.IsInf(v, 0) {
				return nil, fmt.Errorf("convert to float32: element %d is %g", i, v)
			}
		}
	default:
		return nil, fmt.Errorf("convert to float32: elements are %s", t.DType)
	}
	return Float32s(t.Shape, out), nil
}

// float16 is the value of an IEEE 754 half: 1 sign bit, 5 of exponent with bias
// 15, 10 of fraction.
func float16(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero, or a denormal: fraction units of 2^-24
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
