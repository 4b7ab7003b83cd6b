package hf

import (
	"fmt"

	"pipe/onnx"
)

// clip builds a tower of the model of Radford et al., 2021: pre-norm layers whose result is projected into the space
// that both towers share.
type clip struct {
	*clipConfig
	*transformer
}

// clipAttention are the names of the parts of attention in checkpoints.
var clipAttention = projections{query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj"}

func newCLIP(c *clipConfig, prefix string, w *weights) *clip {
	return &clip{clipConfig: c, transformer: &transformer{
		g: onnx.NewGraph("encoder"), w: w, prefix: prefix, hidden: c.Hidden, heads: c.Heads, epsilon: c.Epsilon,
	}}
}

func buildCLIPText(folder string, w *weights, o Options) (*onnx.Model, error) {
	config, err := readCLIP(folder, TowerText)
	if err != nil {
		return nil, err
	}
	c := newCLIP(config, "text_model.", w)
	g := c.g
	ids, mask := textInput(g, "input_ids"), textInput(g, "attention_mask")
	c.axes, c.shape = onnx.Shape{batch, sequence}, g.ShapeOf(ids)
	c.bias = g.Add(paddingBias(g, mask), causalBias(g, c.shape))
	tokens := g.Gather(c.tensor("embeddings.token_embedding.weight", c.Vocab, c.Hidden), ids, 0)
	positions := c.first(c.tensor("embeddings.position_embedding.weight", c.Positions, c.Hidden), c.shape)
	x := c.norm(c.layers(g.Reshape(g.Add(tokens, positions), -1, c.Hidden)), "final_layer_norm")
	x = g.Op("GatherND", []*onnx.Value{c.project(x, "text_projection.weight"), c.endOf(ids)}, onnx.Float32,
		onnx.Shape{batch, onnx.Fix(c.Projection)}, onnx.Attr{Name: "batch_dims", Value: int64(1)})
	return c.finish(TextEmbeds, x, o.Head)
}

// endOf is the position of the end of every text, int64 [batch, 1]: the first token with the end id.
func (c *clip) endOf(ids *onnx.Value) *onnx.Value {
	if id := c.end(); id != LargestEnd {
		ids = c.g.Cast(c.g.Equal(ids, c.g.Scalar(onnx.Int64, float64(id))), onnx.Int64)
	}
	return c.g.ArgMax(ids, 1, true)
}

func buildCLIPVision(folder string, w *weights, o Options) (*onnx.Model, error) {
	config, err := readCLIP(folder, TowerVision)
	if err != nil {
		return nil, err
	}
	c := newCLIP(config, visionPrefix, w)
	return c.finish(ImageEmbeds, c.projected(c.image()), o.Head)
}

// image is the hidden state that represents the image, after its norm: the first of [batch, places, hidden].
func (c *clip) image() *onnx.Value {
	g := c.g
	pixels := g.Input(PixelValues, onnx.Float32, onnx.Shape{batch, onnx.Fix(3), onnx.Fix(c.Image), onnx.Fix(c.Image)})
	grid := c.Image / c.Patch
	places := grid*grid + 1 // the patches, and before them the class token
	c.axes = onnx.Shape{batch, onnx.Fix(places)}
	c.shape = g.Concat(0, g.Slice(g.ShapeOf(pixels), []int64{0}, []int64{1}, nil, nil), g.Const(onnx.Int64s([]int64{1}, []int64{places})))
	x := g.Reshape(c.embeddings(pixels, grid), -1, c.Hidden)
	x = c.layers(c.norm(x, "pre_layrnorm")) // misspelt in checkpoints
	return c.norm(x, "post_layernorm")
}

// projected projects the image into the common space: [batch, projection].
func (c *clip) projected(x *onnx.Value) *onnx.Value {
	return c.firstPlace(c.project(x, "visual_projection.weight"))
}

// firstPlace is the first of [batch, places, width]: [batch, width].
func (c *clip) firstPlace(x *onnx.Value) *onnx.Value {
	return c.g.Squeeze(c.g.Slice(x, []int64{0}, []int64{1}, []int64{1}, nil), 1)
}

// embeddings are the embeddings of the class token and the patches, with their positions: [batch, 1+grid*grid, hidden].
func (c *clip) embeddings(pixels *onnx.Value, grid int64) *onnx.Value {
	g, patches := c.g, grid*grid
	x := g.Op("Conv", []*onnx.Value{pixels, c.tensor("embeddings.patch_embedding.weight", c.Hidden, 3, c.Patch, c.Patch)},
		onnx.Float32, onnx.Shape{batch, onnx.Fix(c.Hidden), onnx.Fix(grid), onnx.Fix(grid)},
		onnx.Attr{Name: "kernel_shape", Value: []int64{c.Patch, c.Patch}}, onnx.Attr{Name: "strides", Value: []int64{c.Patch, c.Patch}})
	x = g.Transpose(g.Reshape(x, 0, c.Hidden, patches), 0, 2, 1)
	class := g.Reshape(c.tensor("embeddings.class_embedding", c.Hidden), 1, c.Hidden)
	places := c.tensor("embeddings.position_embedding.weight", 1+patches, c.Hidden)
	// The value added to the zeros before the patches is the same for all images.
	return g.Add(g.Pad(x, []int64{0, 1, 0}, []int64{0, 0, 0}), g.Add(g.Pad(class, []int64{0, 0}, []int64{patches, 0}), places))
}

// layers are the transformer layers: attention and a two-layer network, each with a norm before it and a residual
// connection.
func (c *clip) layers(x *onnx.Value) *onnx.Value {
	for i := int64(0); i < c.Layers && c.w.err == nil; i++ { // stop when weights are missing: a configuration can claim millions of layers
		name := fmt.Sprintf("encoder.layers.%d.", i)
		a := c.attention(c.norm(x, name+"layer_norm1"), name, clipAttention)
		x = c.g.Add(x, c.dense(a, name+"self_attn.out_proj", c.Hidden, c.Hidden))
		h := c.dense(c.norm(x, name+"layer_norm2"), name+"mlp.fc1", c.Hidden, c.Intermediate)
		x = c.g.Add(x, c.dense(activate(c.g, c.Activation, h), name+"mlp.fc2", c.Intermediate, c.Hidden))
	}
	return x
}

// project projects hidden states into the common space: [batch, sequence, projection]. Only one position of each is
// needed, but a product with a single row would be rounded differently than one with the rows of a batch.
func (c *clip) project(x *onnx.Value, name string) *onnx.Value {
	w := c.g.NamedConst(name, c.w.get(name, c.Projection, c.Hidden))
	return c.unfold(c.g.Gemm(x, w, nil, 1, 1, false, true), c.Projection)
}

// finish ends a graph whose result is already one vector.
func (c *clip) finish(name string, x *onnx.Value, h *Head) (*onnx.Model, error) {
	if h == nil {
		c.g.Output(name, x)
	} else {
		c.g.Output(SentenceEmbedding, h.apply(c.g, x, nil))
	}
	if c.w.err != nil {
		return nil, c.w.err
	}
	return c.g.Build(onnx.BuildOptions{})
}
