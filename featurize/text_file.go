package featurize

import (
	"errors"
	"fmt"

	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// Info describes the encoder.
func (m *TextModel) Info() EncoderInfo {
	return EncoderInfo{
		Input: InputText, Name: m.Name, Architecture: m.Architecture, Dim: m.Dim(), MaxLength: m.MaxLength,
		Pooling: m.Head.Pooling, Normalize: m.Head.Normalize, Vocab: m.Vocab,
		Digest: m.Digest(), Weights: m.Weights, Tokenizer: m.Tokenizer.Digest(),
	}
}

// Encoder is the model as one file that ReadTextModel reads: the graph, and in
// its metadata the settings and the whole tokenizer.json.
func (m *TextModel) Encoder() (*onnx.Model, error) {
	return encoderGraph(m.Graph, hf.SentenceEmbedding, m.Info(), map[string]string{"tokenizer": string(m.tokenizer)})
}

// ParseTextModel is ReadTextModel for a model in memory, made by Encoder, or
// for the encoder in a file merged with a policy.
func ParseTextModel(graph *onnx.Model) (*TextModel, error) {
	m, err := parseTextEncoder(graph, DefaultTextModelOptions())
	if err != nil {
		return nil, err
	}
	return m, m.check()
}

// parseTextEncoder is the model of a file that Encoder made.
func parseTextEncoder(graph *onnx.Model, o TextModelOptions) (*TextModel, error) {
	info, err := infoOf(graph, InputText)
	if err != nil {
		return nil, err
	}
	m := &TextModel{
		Name: info.Name, Architecture: info.Architecture, Graph: graph, MaxLength: info.MaxLength, Vocab: info.Vocab,
		Head: hf.Head{Pooling: info.Pooling, Normalize: info.Normalize}, end: hf.NoEnd, Weights: info.Weights,
		tokenizer: []byte(graph.Metadata()[keyEncoder+"tokenizer"]),
	}
	if o.Tokenizer != "" {
		return nil, errors.New("the file contains its tokenizer; no other can be set")
	}
	if o.MaxLength > m.MaxLength {
		return nil, fmt.Errorf("texts of %d tokens are requested, but the encoder was made for %d", o.MaxLength, m.MaxLength)
	}
	if o.MaxLength > 0 {
		m.MaxLength = o.MaxLength
	}
	m.Tokenizer, err = tokenizer.Parse(m.tokenizer)
	return m, err
}
