package featurize

import (
	"errors"

	"pipe/featurize/tokenizer"
	"pipe/internal/digest"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// MadeText is an encoder of texts that was made in memory, not read from the files of a model.
type MadeText struct {
	Name         string
	Architecture string      // what kind of model it is, such as lexical
	Graph        *onnx.Model // inputs input_ids and, if any, attention_mask, int64 [batch, sequence]; output hf.SentenceEmbedding
	Tokenizer    []byte      // tokenizer.json
	Head         hf.Head     // that the graph ends with
	MaxLength    int         // most tokens of a text, special ones counted
	Vocab        int64       // rows of the table of tokens
}

// NewTextModel is the model of a graph and a tokenizer that belong together. Its Weights are the digest of the graph.
func NewTextModel(made MadeText) (*TextModel, error) {
	if made.MaxLength < 1 {
		return nil, errors.New("new text model: the most tokens of a text must be positive")
	}
	content, err := made.Graph.Marshal()
	if err != nil {
		return nil, err
	}
	m := &TextModel{
		Name: made.Name, Architecture: made.Architecture, Graph: made.Graph, Head: made.Head, MaxLength: made.MaxLength, Vocab: made.Vocab,
		Weights: digest.Of(content), tokenizer: made.Tokenizer, end: hf.NoEnd,
	}
	if m.Tokenizer, err = tokenizer.Parse(made.Tokenizer); err != nil {
		return nil, err
	}
	return m, m.check()
}
