package hf

import (
	"errors"
	"fmt"

	"pipe/onnx"
)

// bertConfig is the config.json of model_type bert.
type bertConfig struct {
	Layers       int64   `json:"num_hidden_layers"`
	Heads        int64   `json:"num_attention_heads"`
	Hidden       int64   `json:"hidden_size"`
	Intermediate int64   `json:"intermediate_size"`
	Vocab        int64   `json:"vocab_size"`
	Positions    int64   `json:"max_position_embeddings"`
	Types        int64   `json:"type_vocab_size"`
	Epsilon      float64 `json:"layer_norm_eps"`
	Activation   string  `json:"hidden_act"`
	PositionType string  `json:"position_embedding_type"`
	Decoder      bool    `json:"is_decoder"`
}

func (c *bertConfig) validate() error {
	err := checkSizes(map[string]int64{
		"num_hidden_layers": c.Layers, "num_attention_heads": c.Heads, "hidden_size": c.Hidden, "intermediate_size": c.Intermediate,
		"vocab_size": c.Vocab, "max_position_embeddings": c.Positions, "type_vocab_size": c.Types,
	})
	switch {
	case err != nil:
		return err
	case c.PositionType != "absolute":
		return fmt.Errorf("position_embedding_type is %q; only absolute is known", c.PositionType)
	case c.Decoder:
		return errors.New("is_decoder: a decoder is not an encoder")
	}
	return checkLayers(c.Hidden, c.Heads, c.Epsilon, c.Activation)
}

// bertNames are the names of the parts of a layer in a checkpoint.
type bertNames struct {
	prefix string // of all names in checkpoints of an encoder with a task head
	layer  string // with a place for the number
	projections
	attended, attendedNorm  string
	inner, outer, outerNorm string
}

// bert builds the encoder of Devlin et al., 2019, and its relatives: post-norm
// layers with learned absolute positions.
type bert struct {
	bertConfig
	bertNames
	*transformer
}

func buildBERT(folder string, w *weights, o Options) (*onnx.Model, error) {
	c := bertConfig{Epsilon: 1e-12, Activation: "gelu", PositionType: "absolute", Types: 2}
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	b, err := newBERT(c, layersOfBERT("bert."), w)
	if err != nil {
		return nil, err
	}
	ids, mask, types := textInput(b.g, "input_ids"), textInput(b.g, "attention_mask"), textInput(b.g, "token_type_ids")
	return b.build(ids, mask, []*onnx.Value{b.typeVectors(types), b.positionVectors(ids)}, o)
}

// layersOfBERT are the names that BERT and RoBERTa share.
func layersOfBERT(prefix string) bertNames {
	return bertNames{
		prefix: prefix, layer: "encoder.layer.%d.",
		projections: projections{query: "attention.self.query", key: "attention.self.key", value: "attention.self.value"},
		attended:    "attention.output.dense", attendedNorm: "attention.output.LayerNorm",
		inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
	}
}

// newBERT starts a graph.
func newBERT(c bertConfig, names bertNames, w *weights) (*bert, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	if w.has("embeddings.word_embeddings.weight") {
		names.prefix = ""
	}
	t := &transformer{
		g: onnx.NewGraph("encoder"), w: w, prefix: names.prefix, hidden: c.Hidden, heads: c.Heads, epsilon: c.Epsilon, axes: onnx.Shape{batch, sequence},
	}
	return &bert{bertConfig: c, bertNames: names, transformer: t}, nil
}

// build ends a graph; it adds vectors to those of the tokens.
func (b *bert) build(ids, mask *onnx.Value, vectors []*onnx.Value, o Options) (*onnx.Model, error) {
	w := b.w
	b.bias = paddingBias(b.g, mask)
	x := b.g.Gather(b.tensor("embeddings.word_embeddings.weight", b.Vocab, b.Hidden), ids, 0)
	for _, v := range vectors {
		x = b.g.Add(x, v)
	}
	x = b.norm(b.g.Reshape(x, -1, b.Hidden), "embeddings.LayerNorm")
	b.shape = b.g.ShapeOf(ids)
	for i := int64(0); i < b.Layers && w.err == nil; i++ { // stop when weights are missing: a configuration can claim millions of layers
		x = b.transform(x, fmt.Sprintf(b.layer, i))
	}
	x = b.unfold(x, b.Hidden)
	if o.Head == nil {
		b.g.Output(HiddenStates, x)
	} else {
		b.g.Output(SentenceEmbedding, o.Head.apply(b.g, x, mask))
	}
	if w.err != nil {
		return nil, w.err
	}
	return b.g.Build(onnx.BuildOptions{})
}

// typeVectors encode which of two texts a token belongs to.
func (b *bert) typeVectors(types *onnx.Value) *onnx.Value {
	return b.g.Gather(b.tensor("embeddings.token_type_embeddings.weight", b.Types, b.Hidden), types, 0)
}

// positionVectors encode the position of a token, counted from 0.
func (b *bert) positionVectors(ids *onnx.Value) *onnx.Value {
	return b.first(b.tensor("embeddings.position_embeddings.weight", b.Positions, b.Hidden), b.g.ShapeOf(ids))
}

// transform is attention and a two-layer network, each with a residual connection.
func (b *bert) transform(x *onnx.Value, name string) *onnx.Value {
	a := b.dense(b.attention(x, name, b.projections), name+b.attended, b.Hidden, b.Hidden)
	x = b.norm(b.g.Add(a, x), name+b.attendedNorm)
	h := activate(b.g, b.Activation, b.dense(x, name+b.inner, b.Hidden, b.Intermediate))
	h = b.dense(h, name+b.outer, b.Intermediate, b.Hidden)
	return b.norm(b.g.Add(h, x), name+b.outerNorm)
}
