package featurize

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"pipe/onnx"
)

// The input and the output of the graphs of image encoders.
const (
	PixelsInput    = "pixels"          // uint8 [batch, height, width, 3]: RGB, resized and cropped
	ImageEmbedding = "image_embedding" // float32 [batch, width]
)

// textInputs are the inputs that a text encoder may have, all int64 [batch,
// sequence]. The first is required.
var textInputs = []string{"input_ids", "attention_mask", "token_type_ids"}

// listed shows inputs or outputs in an error.
func listed(list []onnx.IO) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprintf("%s (%s %s)", v.Name, v.DType, v.Shape)
	}
	return strings.Join(words, ", ")
}

// widthOf is the length of the vectors of an output, 0 if the graph does not
// declare it.
func widthOf(m *onnx.Model, output string) int {
	for _, v := range m.Outputs() {
		if v.Name == output && len(v.Shape) == 2 && v.Shape[1].Known() {
			return int(v.Shape[1].Size)
		}
	}
	return 0
}

// fits reports whether a batch of elements of the given sizes matches a shape;
// unknown axes match any size.
func fits(s onnx.Shape, sizes ...int) bool {
	if len(s) != len(sizes)+1 {
		return false
	}
	for i, n := range sizes {
		if d := s[i+1]; d.Known() && d.Size != int64(n) {
			return false
		}
	}
	return true
}

// decodeRow copies float32 values out and reports whether all are finite.
func decodeRow(dst []float32, raw []byte) bool {
	finite := true
	for i := range dst {
		v := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		finite = finite && v-v == 0
		dst[i] = v
	}
	return finite
}
