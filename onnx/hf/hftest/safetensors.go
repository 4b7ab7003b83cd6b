package hftest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pipe/onnx"
)

var types = map[onnx.DType]string{
	onnx.Float32: "F32", onnx.Float64: "F64", onnx.Float16: "F16", onnx.BFloat16: "BF16", onnx.Int64: "I64",
}

// Safetensors is the content of a file with the tensors, sorted by name.
func Safetensors(tensors map[string]*onnx.Tensor) ([]byte, error) {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		if types[t.DType] == "" {
			return nil, fmt.Errorf("tensor %q: no name for %s", name, t.DType)
		}
		header[name] = map[string]any{
			"dtype": types[t.DType], "shape": t.Shape, "data_offsets": []int{len(data), len(data) + len(t.Raw)},
		}
		data = append(data, t.Raw...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return slices.Concat(out, text, data), nil
}
