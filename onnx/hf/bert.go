package hf

import (
	"errors"
	"fmt"
	"math"

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
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("hidden_size %d is not a multiple of %d num_attention_heads", c.Hidden, c.Heads)
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		return fmt.Errorf("layer_norm_eps is %v", c.Epsilon)
	case c.PositionType != "absolute":
		return fmt.Errorf("position_embedding_type is %q; only absolute is known", c.PositionType)
	case c.Decoder:
		return errors.New("is_decoder: a decoder is no encoder")
	}
	return checkActivation(c.Activation)
}

// bertNames are how a checkpoint calls the parts of a layer.
type bertNames struct {
	prefix                  string // that checkpoints of the encoder below a task put before all names
	layer                   string // with a place for the number
	query, key, value       string
	attended, attendedNorm  string
	inner, outer, outerNorm string
}

// bert builds the encoder of Devlin et al., 2019, and its relatives: post-norm
// layers with learned absolute positions. Between the embeddings and the head,
// hidden states are [batch*sequence, hidden]: the products of matrices take
// nearly all of the time, and Gemm adds their bias for free.
type bert struct {
	bertConfig
	bertNames
	g     *onnx.Graph
	w     *weights
	shape *onnx.Value // of the inputs: batch and sequence
	bias  *onnx.Value // added to attention scores: [batch, 1, 1, sequence]
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
		query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
		attended: "attention.output.dense", attendedNorm: "attention.output.LayerNorm",
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
	return &bert{bertConfig: c, bertNames: names, g: onnx.NewGraph("encoder"), w: w}, nil
}

// build ends a graph: vectors are added to those of the tokens.
func (b *bert) build(ids, mask *onnx.Value, vectors []*onnx.Value, o Options) (*onnx.Model, error) {
	w := b.w
	b.bias = maskBias(b.g, mask)
	x := b.g.Gather(b.tensor("embeddings.word_embeddings.weight", b.Vocab, b.Hidden), ids, 0)
	for _, v := range vectors {
		x = b.g.Add(x, v)
	}
	x = b.norm(b.g.Reshape(x, -1, b.Hidden), "embeddings.LayerNorm")
	b.shape = b.g.ShapeOf(ids)
	for i := int64(0); i < b.Layers && w.err == nil; i++ { // no further than the weights: a configuration can promise millions
		x = b.transform(x, fmt.Sprintf(b.layer, i))
	}
	x = b.reshape(x, onnx.Shape{batch, sequence, onnx.Fix(b.Hidden)}, b.Hidden)
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

// typeVectors tell which of two texts a token belongs to.
func (b *bert) typeVectors(types *onnx.Value) *onnx.Value {
	return b.g.Gather(b.tensor("embeddings.token_type_embeddings.weight", b.Types, b.Hidden), types, 0)
}

// positionVectors tell where a token stands, counted from 0.
func (b *bert) positionVectors(ids *onnx.Value) *onnx.Value {
	g := b.g
	length := g.Slice(g.ShapeOf(ids), []int64{1}, []int64{2}, nil, nil)
	zero := g.Const(onnx.Int64s([]int64{1}, []int64{0}))
	at := g.SliceDyn(b.tensor("embeddings.position_embeddings.weight", b.Positions, b.Hidden), zero, length, zero)
	return g.AssumeShape(at, onnx.Shape{sequence, onnx.Fix(b.Hidden)})
}

// transform is attention and a network of two layers, each with a way around it.
func (b *bert) transform(x *onnx.Value, name string) *onnx.Value {
	a := b.dense(b.attention(x, name), name+b.attended, b.Hidden, b.Hidden)
	x = b.norm(b.g.Add(a, x), name+b.attendedNorm)
	h := activate(b.g, b.Activation, b.dense(x, name+b.inner, b.Hidden, b.Intermediate))
	h = b.dense(h, name+b.outer, b.Intermediate, b.Hidden)
	return b.norm(b.g.Add(h, x), name+b.outerNorm)
}

// attention is softmax(q*k/sqrt(d) + mask) * v in every head of d dimensions.
func (b *bert) attention(x *onnx.Value, name string) *onnx.Value {
	g, d := b.g, b.Hidden/b.Heads
	heads := func(part string, order ...int64) *onnx.Value {
		y := b.dense(x, name+part, b.Hidden, b.Hidden)
		y = b.reshape(y, onnx.Shape{batch, sequence, onnx.Fix(b.Heads), onnx.Fix(d)}, b.Heads, d)
		return g.Transpose(y, order...)
	}
	q, k, v := heads(b.query, 0, 2, 1, 3), heads(b.key, 0, 2, 3, 1), heads(b.value, 0, 2, 1, 3)
	scores := g.Mul(g.MatMul(q, k), g.Scalar(onnx.Float32, 1/math.Sqrt(float64(d))))
	y := g.MatMul(g.Softmax(g.Add(scores, b.bias), -1), v)
	return g.Reshape(g.Transpose(y, 0, 2, 1, 3), -1, b.Hidden)
}

// dense is x*w' + bias; checkpoints hold w as [out, in].
func (b *bert) dense(x *onnx.Value, name string, in, out int64) *onnx.Value {
	return b.g.Gemm(x, b.tensor(name+".weight", out, in), b.tensor(name+".bias", out), 1, 1, false, true)
}

func (b *bert) norm(x *onnx.Value, name string) *onnx.Value {
	return b.g.LayerNormalization(x, b.tensor(name+".weight", b.Hidden), b.tensor(name+".bias", b.Hidden), b.Epsilon)
}

func (b *bert) tensor(name string, shape ...int64) *onnx.Value {
	return b.g.NamedConst(name, b.w.get(b.prefix+name, shape...))
}

// reshape gives x the axes of the inputs, followed by sizes.
func (b *bert) reshape(x *onnx.Value, out onnx.Shape, sizes ...int64) *onnx.Value {
	tail := b.g.Const(onnx.Int64s([]int64{int64(len(sizes))}, sizes))
	return b.g.ReshapeTo(x, b.g.Concat(0, b.shape, tail), out)
}
