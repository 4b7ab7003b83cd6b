package pipeline

import (
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/models"
	"pipe/onnx"
)

// EncoderFileExplanation tells what the file of an encoder says about itself.
type EncoderFileExplanation struct {
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
		return nil, &costs.DataError{File: path, Msg: "is marked as an encoder and does not say which", Err: err}
	}
	return &EncoderFileExplanation{
		Format: 1, Kind: featurize.EncoderKind, File: path, EncoderInfo: info,
		Inputs: inWords(m.Inputs()), Outputs: inWords(m.Outputs()),
	}, nil
}

// WriteText writes the explanation for a terminal.
func (e *EncoderFileExplanation) WriteText(w io.Writer) error {
	b := titled(e.File, "encoder")
	field(b, "model", "%s", describeEncoder(&e.EncoderInfo))
	field(b, "vector", "%d numbers, %s", e.Dim, poolingWords(&e.EncoderInfo))
	field(b, "input", "%s", strings.Join(e.Inputs, ", "))
	field(b, "output", "%s", strings.Join(e.Outputs, ", "))
	field(b, "digest", "%s", e.Digest)
	field(b, "weights", "%s", e.Weights)
	field(b, "tokenizer", "%s", e.Tokenizer)
	_, err := io.WriteString(w, b.String())
	return err
}

// describeEncoder names an encoder in a line.
func describeEncoder(e *featurize.EncoderInfo) string {
	name := e.Name
	if e.Architecture != "" {
		name += " (" + e.Architecture + ")"
	}
	return fmt.Sprintf("%s, %s of up to %d tokens", name, e.Input, e.MaxLength)
}

func poolingWords(e *featurize.EncoderInfo) string {
	words := "pooled by " + e.Pooling
	if e.Normalize {
		words += ", of length 1"
	}
	return words
}

// encoderKeys begin the metadata of an encoder, the common prefix left out.
const encoderKeys = "encoder."

// encoderInFront is the encoder that a policy file has in front, nil if it has none.
func encoderInFront(path string, info *models.PolicyInfo) (*featurize.EncoderInfo, error) {
	about := map[string]string{}
	for key, value := range info.Info {
		about["pipe."+key] = value
	}
	e, ok, err := featurize.ParseEncoderInfo(about)
	if err != nil {
		return nil, &costs.DataError{File: path, Err: err}
	}
	if !ok {
		return nil, nil
	}
	return &e, nil
}
