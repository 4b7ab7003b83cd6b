package featurize

import (
	"encoding/json"
	"fmt"

	"pipe/featurize/pixel"
	"pipe/onnx"
)

// The metadata of an encoder's file. A file with an encoder and a policy has
// them as well as those of the policy.
const (
	keyKind     = "pipe.kind"
	keyEncoder  = "pipe.encoder."
	graphFormat = "1"
	// EncoderKind is the pipe.kind of an encoder's file.
	EncoderKind = "encoder"
)

// EncoderInfo describes an encoder in its file.
type EncoderInfo struct {
	Input        string `json:"input"` // InputText or InputImage
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
	Preprocess *pixel.Preprocess `json:"preprocess,omitempty"` // the graph scales pixels; resizing and cropping come before it
	Output     string            `json:"output,omitempty"`     // output of the source model
	Float16    bool              `json:"float16,omitempty"`

	Digest  string `json:"digest"`  // of everything that affects vectors
	Weights string `json:"weights"` // digest of the source files
}

// ParseEncoderInfo reads the description of the encoder in a file; ok is false
// if the file has no encoder.
func ParseEncoderInfo(metadata map[string]string) (info EncoderInfo, ok bool, err error) {
	format, ok := metadata[keyEncoder+"format"]
	if !ok {
		return info, false, nil
	}
	if format != graphFormat {
		return info, true, fmt.Errorf("the encoder has format %s; this version reads format %s", format, graphFormat)
	}
	if err := json.Unmarshal([]byte(metadata[keyEncoder+"info"]), &info); err != nil {
		return info, true, fmt.Errorf("metadata %sinfo: %w", keyEncoder, err)
	}
	if err := info.validate(); err != nil {
		return info, true, fmt.Errorf("metadata %sinfo: %w", keyEncoder, err)
	}
	return info, true, nil
}

// encoderGraph is a graph with the metadata of an encoder's file, and more
// metadata under keyEncoder.
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

// infoOf is the description in the file of an encoder of the given input.
func infoOf(graph *onnx.Model, input string) (EncoderInfo, error) {
	info, ok, err := ParseEncoderInfo(graph.Metadata())
	if err == nil && (!ok || info.Input != input) {
		err = fmt.Errorf("the encoder has input %q, not %q", info.Input, input)
	}
	return info, err
}
