package inspect

import (
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/safetext"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// encoderFileExplanation describes the file of an encoder.
type encoderFileExplanation struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	File   string `json:"file"`
	featurize.EncoderInfo
	Inputs  []string `json:"inputs"` // names and shapes
	Outputs []string `json:"outputs"`
}

func explainEncoderFile(path string, m *onnx.Model) (Explanation, error) {
	info, ok, err := featurize.ParseEncoderInfo(m.Metadata())
	if err != nil || !ok {
		return nil, &costs.DataError{File: path, Msg: "is marked as an encoder, but its metadata is incomplete", Err: err}
	}
	return &encoderFileExplanation{
		Format: 1, Kind: featurize.EncoderKind, File: path, EncoderInfo: info,
		Inputs: Shapes(m.Inputs()), Outputs: Shapes(m.Outputs()),
	}, nil
}

// WriteText writes the explanation for a terminal.
func (e *encoderFileExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "encoder")
	AddEncoder(b, "model", &e.EncoderInfo)
	b.Add("input", "%s", strings.Join(e.Inputs, ", "))
	b.Add("output", "%s", strings.Join(e.Outputs, ", "))
	b.Add("digest", "%s", e.Digest)
	b.Add("weights", "%s", e.Weights)
	b.Add("tokenizer", "%s", e.Tokenizer)
	return b.WriteText(w)
}

// AddEncoder adds an encoder's name, input and output.
func AddEncoder(b *safetext.Fields, name string, e *featurize.EncoderInfo) {
	b.Add(name, "%s", describeEncoder(e))
	b.Add("vector", "%d numbers%s", e.Dim, safetext.After(", ", poolingWords(e)))
	if p := e.Preprocess; p != nil {
		b.Add("pixels", "%s", pixelWords(p))
		b.Add("scaling", "in the graph: (value/255 - mean)/std, mean %s, std %s", channelWords(p.Mean), channelWords(p.Std))
	}
}

// describeEncoder describes an encoder in one line.
func describeEncoder(e *featurize.EncoderInfo) string {
	name := e.Name
	if e.Architecture != "" {
		name += " (" + e.Architecture + ")"
	}
	name += ", " + e.Size()
	if e.Float16 {
		name += ", in float16"
	}
	return name
}

func poolingWords(e *featurize.EncoderInfo) string {
	if e.Pooling == "" {
		return ""
	}
	words := "pooled by " + e.Pooling
	if e.Pooling == hf.PoolModel {
		words = "pooled inside of the model"
	}
	if e.Normalize {
		words += ", of length 1"
	}
	return words
}

// pixelWords describes the preprocessing of an image before its pixels enter the graph.
func pixelWords(p *pixel.Preprocess) string {
	if p.Resize == 0 {
		return fmt.Sprintf("uint8 RGB, images of %d x %d as they are", p.Width, p.Height)
	}
	return fmt.Sprintf("uint8 RGB, shorter side resized to %d (%s), centre of %d x %d", p.Resize, p.Interpolation, p.Width, p.Height)
}

// channelWords has the values of red, green and blue, or one value if they are equal.
func channelWords(v [3]float32) string {
	if v[0] == v[1] && v[1] == v[2] {
		return fmt.Sprint(v[0])
	}
	return strings.Trim(fmt.Sprint(v), "[]")
}

// Shapes gives name, type and shape of every value.
func Shapes(values []onnx.IO) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%s %v %v", v.Name, v.DType, v.Shape)
	}
	return words
}
