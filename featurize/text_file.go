package featurize

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// The metadata of an encoder's file. A file of encoder and policy has them too,
// beside those of the policy.
const (
	keyKind    = "pipe.kind"
	keyEncoder = "pipe.encoder."
	textFormat = "1"
	// EncoderKind is the pipe.kind of an encoder's file.
	EncoderKind = "encoder"
)

// EncoderInfo is what the file of an encoder says about itself.
type EncoderInfo struct {
	Input        string `json:"input"` // what goes in: text
	Name         string `json:"name"`
	Architecture string `json:"architecture,omitempty"`
	Dim          int    `json:"dim"` // length of a vector
	MaxLength    int    `json:"max_length"`
	Pooling      string `json:"pooling"`
	Normalize    bool   `json:"normalize"`
	Vocab        int64  `json:"vocab,omitempty"`
	Digest       string `json:"digest"`    // weights, tokenizer and settings
	Weights      string `json:"weights"`   // digest of the files that it was made of
	Tokenizer    string `json:"tokenizer"` // digest of tokenizer.json
}

// Info describes the encoder.
func (m *TextModel) Info() EncoderInfo {
	return EncoderInfo{
		Input: "text", Name: m.Name, Architecture: m.Architecture, Dim: m.Dim(), MaxLength: m.MaxLength,
		Pooling: m.Head.Pooling, Normalize: m.Head.Normalize, Vocab: m.Vocab,
		Digest: m.Digest(), Weights: m.Weights, Tokenizer: m.Tokenizer.Digest(),
	}
}

// Encoder is the model as one file that ReadTextModel reads: the graph, and in
// its metadata the settings and the whole tokenizer.json.
func (m *TextModel) Encoder() (*onnx.Model, error) {
	info, err := json.Marshal(m.Info())
	if err != nil {
		return nil, err
	}
	out, err := m.Graph.WithOutputs(hf.SentenceEmbedding)
	if err != nil {
		return nil, err
	}
	out.SetMetadata(map[string]string{
		keyKind: EncoderKind, "pipe.format": textFormat,
		keyEncoder + "format": textFormat, keyEncoder + "info": string(info), keyEncoder + "tokenizer": string(m.tokenizer),
	})
	return out, nil
}

// ParseEncoderInfo reads what a file says about the encoder in it; ok is false
// if it holds none.
func ParseEncoderInfo(metadata map[string]string) (info EncoderInfo, ok bool, err error) {
	format, ok := metadata[keyEncoder+"format"]
	if !ok {
		return info, false, nil
	}
	if format != textFormat {
		return info, true, fmt.Errorf("encoder format %s is not %s, the one that this version reads", format, textFormat)
	}
	if err := json.Unmarshal([]byte(metadata[keyEncoder+"info"]), &info); err != nil {
		return info, true, fmt.Errorf("metadata %sinfo: %w", keyEncoder, err)
	}
	if info.MaxLength < 1 {
		return info, true, fmt.Errorf("metadata %sinfo: max_length is %d", keyEncoder, info.MaxLength)
	}
	return info, true, nil
}

// parseEncoder is the model of a file that Encoder made.
func parseEncoder(graph *onnx.Model, maxLength int) (*TextModel, error) {
	about := graph.Metadata()
	info, ok, err := ParseEncoderInfo(about)
	if err != nil {
		return nil, err
	}
	if !ok || info.Input != "text" {
		return nil, fmt.Errorf("an encoder of %s, not of text", strconv.Quote(info.Input))
	}
	m := &TextModel{
		Name: info.Name, Architecture: info.Architecture, Graph: graph, MaxLength: info.MaxLength, Vocab: info.Vocab,
		Head: hf.Head{Pooling: info.Pooling, Normalize: info.Normalize}, Weights: info.Weights,
		tokenizer: []byte(about[keyEncoder+"tokenizer"]),
	}
	if maxLength > m.MaxLength {
		return nil, fmt.Errorf("texts of %d tokens are asked for, the encoder was made for %d", maxLength, m.MaxLength)
	}
	if maxLength > 0 {
		m.MaxLength = maxLength
	}
	m.Tokenizer, err = tokenizer.Parse(m.tokenizer)
	return m, err
}
