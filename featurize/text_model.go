package featurize

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/featurize/tokenizer"
	"pipe/internal/digest"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// TextModel is a text encoder as read from files: a graph from token ids to one
// vector, and the tokenizer.
type TextModel struct {
	Name         string      // its name without location, such as all-MiniLM-L6-v2
	Architecture string      // model_type of config.json; "" if an export came without
	Graph        *onnx.Model // inputs of textInputs to the output hf.SentenceEmbedding
	Tokenizer    *tokenizer.Tokenizer
	Head         hf.Head
	MaxLength    int    // most tokens of a text, special ones counted
	Vocab        int64  // rows of the model's token embedding; 0: not known
	Weights      string // digest of the files of the model, "sha256:" and hexadecimal digits

	tokenizer []byte // tokenizer.json
	end       int64  // as in hf.Config
}

// TextModelOptions override the settings in the model's folder.
type TextModelOptions struct {
	MaxLength int    // most tokens of a text, special ones counted; 0: as the model says
	Tokenizer string // a tokenizer.json, a folder with one, or the name of a model; "": the model's own
}

// DefaultTextModelOptions overrides nothing.
func DefaultTextModelOptions() TextModelOptions { return TextModelOptions{} }

// Validate reports every problem at once.
func (o TextModelOptions) Validate() error {
	if o.MaxLength < 0 {
		return fmt.Errorf("text model: the maximum length is %d tokens; it must be at least 0", o.MaxLength)
	}
	return nil
}

// ReadTextModel reads an encoder: a folder as Hugging Face keeps models, an .onnx
// file, or the name of a model in the local cache of the Hugging Face libraries.
//
// Of a folder, onnx/model.onnx or model.onnx is used where there is one, else the
// graph is built of config.json and model.safetensors. modules.json says how one
// vector is made of the hidden states; without it, it is their mean, normalised.
// Of a model with towers, such as CLIP, it is the one of texts, whose vectors are
// not normalised; its export is text_model.onnx. The tokenizer is the folder's
// tokenizer.json. An encoder that TextModel.Encoder made needs no other file.
//
// A model that is nowhere is an *hf.MissingModelError, one that cannot be used a
// *dataerror.Error.
func ReadTextModel(name string, o TextModelOptions) (*TextModel, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m, err := readModel(name, modelReader[*TextModel]{
		folder: func(f modelFolder) (*TextModel, error) { return (&textFolder{modelFolder: f}).read(o) },
		file:   func(graph *onnx.Model) (*TextModel, error) { return parseTextEncoder(graph, o) },
	})
	if err == nil && m.Name == "" {
		m.Name = modelName(name)
	}
	return m, err
}

// Dim is the length of a vector, 0 if the graph does not declare it.
func (m *TextModel) Dim() int { return widthOf(m.Graph, hf.SentenceEmbedding) }

// Digest identifies what decides the vectors: weights, tokenizer and settings.
func (m *TextModel) Digest() string {
	text := fmt.Sprintf("%s\n%s\npooling %s, normalize %t, %d tokens\n",
		m.Weights, m.Tokenizer.Digest(), m.Head.Pooling, m.Head.Normalize, m.MaxLength)
	return digest.Of([]byte(text))
}

// check checks that the parts are consistent.
func (m *TextModel) check() error {
	if err := checkTextInputs(m.Graph.Inputs()); err != nil {
		return err
	}
	if n := int64(m.Tokenizer.Size()); m.Vocab > 0 && n > m.Vocab {
		return fmt.Errorf("the tokenizer has ids up to %d, but the model has %d tokens", n-1, m.Vocab)
	}
	return m.checkEnd()
}

func checkTextInputs(inputs []onnx.IO) error {
	for _, v := range inputs {
		if v.DType != onnx.Int64 || len(v.Shape) != 2 || !slices.Contains(textInputs, v.Name) {
			return fmt.Errorf("the graph has inputs %s; those of a text encoder are %s, int64 [batch sequence]",
				listed(inputs), strings.Join(textInputs, ", "))
		}
	}
	if !slices.ContainsFunc(inputs, func(v onnx.IO) bool { return v.Name == textInputs[0] }) {
		return fmt.Errorf("the graph has inputs %s, but no %s", listed(inputs), textInputs[0])
	}
	return nil
}

// sentenceGraph gives an export the output hf.SentenceEmbedding, which it may
// have already.
func sentenceGraph(m *onnx.Model, head *hf.Head) (*onnx.Model, error) {
	if err := checkTextInputs(m.Inputs()); err != nil {
		return nil, err
	}
	outputs := m.Outputs()
	has := func(name string, rank int) bool {
		return slices.ContainsFunc(outputs, func(v onnx.IO) bool {
			return v.Name == name && v.DType == onnx.Float32 && (v.Shape == nil || len(v.Shape) == rank)
		})
	}
	if has(hf.SentenceEmbedding, 2) {
		return m.WithOutputs(hf.SentenceEmbedding)
	}
	names, rank := []string{hf.HiddenStates, "token_embeddings"}, 3
	if head.Pooling == hf.PoolModel {
		names, rank = []string{hf.TextEmbeds}, 2
	}
	for _, name := range names {
		if has(name, rank) {
			return hf.AddHead(m, name, head)
		}
	}
	if len(outputs) == 0 {
		return nil, errors.New("the graph has no outputs")
	}
	return nil, fmt.Errorf("the graph has outputs %s; a text encoder must have one of %s, %s",
		listed(outputs), hf.SentenceEmbedding, strings.Join(names, ", "))
}
