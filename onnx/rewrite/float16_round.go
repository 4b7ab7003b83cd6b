package rewrite

import (
	"encoding/binary"
	"math"

	"pipe/onnx"
)

// The range of float16.
const (
	largestFloat16  = 0x7bff // 65504
	smallestFloat16 = 0x0001 // 2^-24
)

// rounded is t, a float32 tensor, with its elements rounded as described at ToFloat16.
func rounded(t *onnx.Tensor) *onnx.Tensor {
	values := t.Float32s()
	raw := make([]byte, 0, 2*len(values))
	for _, v := range values {
		b := halfBits(v)
		if len(values) == 1 && b&0x7fff == 0 && v != 0 {
			b |= smallestFloat16
		}
		raw = binary.LittleEndian.AppendUint16(raw, b)
	}
	return &onnx.Tensor{DType: onnx.Float16, Shape: t.Shape, Raw: raw}
}

// halfBits is the half nearest to v, on ties the even one; finite numbers stay finite.
func halfBits(v float32) uint16 {
	b := math.Float32bits(v)
	sign, a := uint16(b>>16)&0x8000, math.Abs(float64(v))
	switch {
	case v != v:
		return 0x7e00
	case math.IsInf(float64(v), 0):
		return sign | 0x7c00
	case a < 1.0/(1<<14): // denormal: units of 2^-24
		return sign | uint16(math.RoundToEven(a*(1<<24)))
	}
	exponent := math.Ilogb(a)
	units := uint32(math.RoundToEven(math.Ldexp(a, 10-exponent))) // 1024 to 2048
	h := uint32(exponent+15-1)<<10 + units                        // 2048 carries into the exponent
	return sign | uint16(min(h, largestFloat16))
}
