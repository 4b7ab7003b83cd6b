package featurize

import (
	"encoding/json"
	"fmt"

	"pipe/featurize/pixel"
	"pipe/onnx"
)

// The metadata of an encoder's file. A file of encoder and policy has them too,
// beside those of the policy.
const (
	keyKind     = "pipe.kind"
	keyEncoder  = "pipe.encoder."
	graphFormat = "1"
	// EncoderKind is the pipe.kind of an encoder's file.
	EncoderKind = "encoder"
)

// EncoderInfo is what the file of an encoder says about itself.
type EncoderInfo struct {
	Input        string `json:"input"` // what goes in: InputText or InputImage
	Name         string `json:"name"`
	Architecture string `json:"architecture,omitempty"`
	Dim          int    `json:"dim"` // length of a vector

	// Of texts.
	MaxLength int    `json:"max_length,omitempty"`
	Pooling   string `json:"pooling,omitempty"`
	Normalize bool   `json:"normalize,omitempty"`
	Vocab     int64  `json:"vocab,omitempty"`
	Tokenizer string `json:"tokenizer,omitempty"` // digest of tokenizer.json

	// Of images.
	Preprocess *pixel.Preprocess `json:"preprocess,omitempty"` // the scaling is inside of the graph, resizing and cropping before it
	Output     string            `json:"output,omitempty"`     // of the model that it was made of
	Float16    bool              `json:"float16,omitempty"`

	Digest  string `json:"digest"`  // of all that decides a vector
	Weights string `json:"weights"` // digest of the files that it was made of
}

// ParseEncoderInfo reads what a file says about the encoder in it; ok is false
// if it holds none.
func ParseEncoderInfo(metadata map[string]string) (info EncoderInfo, ok bool, err error) {
	format, ok := metadata[keyEncoder+"format"]
	if !ok {
		return info, false, nil
	}
	if format != graphFormat {
		return info, true, fmt.Errorf("encoder format %s is not %s, the one that this version reads", format, graphFormat)
	}
	if err := json.Unmarshal([]byte(metadata[keyEncoder+"info"]), &info); err != nil {
		return info, true, fmt.Errorf("metadata %sinfo: %w", keyEncoder, err)
	}
	if err := info.validate(); err != nil {
		return info, true, fmt.Errorf("metadata %sinfo: %w", keyEncoder, err)
	}
	return info, true, nil
}

// encoderGraph is a graph with what a reader needs to know, and more metadata
// below keyEncoder.
func encoderGraph(graph *onnx.Model, output string, info EncoderInfo, more map[string]string) (*onnx.Model, error) {
	text, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	out, err := graph.WithOutputs(output)
	if err != nil {
		return nil, err
	}
	about := map[string]string{
		keyKind: EncoderKind, "pipe.format": graphFormat, keyEncoder + "format": graphFormat, keyEncoder + "info": string(text),
	}
	for key, value := range more {
		about[keyEncoder+key] = value
	}
	out.SetMetadata(about)
	return out, nil
}

// infoOf is what the file of an encoder of some input says.
func infoOf(graph *onnx.Model, input string) (EncoderInfo, error) {
	info, ok, err := ParseEncoderInfo(graph.Metadata())
	if err == nil && (!ok || info.Input != input) {
		err = fmt.Errorf("an encoder of %q, not of %s", info.Input, input)
	}
	return info, err
}
