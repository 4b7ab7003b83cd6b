package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pipe/onnx"
)

// appendRaw appends the elements in binary. Each string is preceded by its length in four bytes.
func appendRaw(dst []byte, t *onnx.Tensor) []byte {
	if t.DType != onnx.String {
		return append(dst, t.Raw...)
	}
	for _, s := range t.Text {
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
	}
	return dst
}

// rawSize returns the number of bytes that appendRaw appends.
func rawSize(t *onnx.Tensor) int {
	n := len(t.Raw)
	for _, s := range t.Text {
		n += 4 + len(s)
	}
	return n
}

// appendJSON appends the elements as a list in row-major order. A number has the same value whether it is read as float64 or
// as its own type. NaN and infinite numbers are an error, because JSON does not have them.
func appendJSON(dst []byte, t *onnx.Tensor) ([]byte, error) {
	dst = append(dst, '[')
	n := t.Len()
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendElement(dst, t, i); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendElement(dst []byte, t *onnx.Tensor, i int) ([]byte, error) {
	raw := t.Raw
	switch t.DType {
	case onnx.Bool:
		return strconv.AppendBool(dst, raw[i] != 0), nil
	case onnx.Uint8:
		return strconv.AppendUint(dst, uint64(raw[i]), 10), nil
	case onnx.Uint16:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint16(raw[2*i:])), 10), nil
	case onnx.Uint32:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(raw[4*i:])), 10), nil
	case onnx.Uint64:
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(raw[8*i:]), 10), nil
	case onnx.Int8:
		return strconv.AppendInt(dst, int64(int8(raw[i])), 10), nil
	case onnx.Int16:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(raw[2*i:]))), 10), nil
	case onnx.Int32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(raw[4*i:]))), 10), nil
	case onnx.Int64:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(raw[8*i:])), 10), nil
	case onnx.Float32:
		return appendFloat32(dst, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	case onnx.Float64:
		v := math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, notFinite(v)
		}
		return strconv.AppendFloat(dst, v, 'g', -1, 64), nil
	case onnx.String:
		return jsontext.AppendQuote(dst, t.Text[i])
	}
	return nil, fmt.Errorf("%s has no form in JSON: ask for binary data", datatypeOf(t.DType))
}

// appendFloat32 writes the fewest digits from which v can be read again, both as float32 and as float64 that is then rounded.
func appendFloat32(dst []byte, v float32) ([]byte, error) {
	wide := float64(v)
	if math.IsNaN(wide) || math.IsInf(wide, 0) {
		return nil, notFinite(wide)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, wide, 'g', -1, 32)
	if back, err := strconv.ParseFloat(asString(dst[start:]), 64); err != nil || float32(back) != v {
		dst = strconv.AppendFloat(dst[:start], wide, 'g', -1, 64)
	}
	return dst, nil
}

func notFinite(v float64) error {
	return fmt.Errorf("an element is %g, which has no form in JSON: ask for binary data", v)
}
