package hftest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/onnx"
)

// CLIP is a small CLIP with random weights.
type CLIP struct {
	Seed         uint64 // of the weights
	Image, Patch int64  // sides in pixels
	Projection   int64  // length of the vectors of both towers
	Vocab, End   int64  // tokens, and the id of the one that ends a text
	Spelling     bool   // with the tokenizer of WriteBERT, for 64 tokens and end token 3; else without a tokenizer
}

// SpellingCLIP is a CLIP for pictures of 32 x 32 pixels and short words.
func SpellingCLIP(seed uint64) CLIP {
	return CLIP{Seed: seed, Image: 32, Patch: 16, Projection: 12, Vocab: Vocab, End: 3, Spelling: true}
}

// RandomCLIP has the picture size and vocabulary of real models, and no tokenizer. A smaller patch makes it slower.
func RandomCLIP(seed uint64, patch int64) CLIP {
	return CLIP{Seed: seed, Image: 224, Patch: patch, Projection: 12, Vocab: 49408, End: 49407}
}

// CLIPFolder returns the path of a folder "clip" that contains the model.
func CLIPFolder(t testing.TB, c CLIP) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "clip")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteCLIP(folder, c); err != nil {
		t.Fatal(err)
	}
	return folder
}

const (
	clipText, clipVision = 16, 24 // widths
	clipPositions        = 77
)

// clipScale is exp(logit_scale).
const clipScale = 20

// WriteCLIP writes config.json, model.safetensors and perhaps a tokenizer.
func WriteCLIP(folder string, c CLIP) error {
	if err := WriteJSON(folder, "config.json", c.Config()); err != nil {
		return err
	}
	if c.Spelling {
		if err := WriteJSON(folder, "tokenizer.json", spelling()); err != nil {
			return err
		}
	}
	b, err := Safetensors(c.Weights())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "model.safetensors"), b, 0o666)
}

// Config is the config.json.
func (c CLIP) Config() map[string]any {
	tower := func(width int) map[string]any {
		return map[string]any{
			"hidden_act": "quick_gelu", "hidden_size": width, "intermediate_size": 2 * width, "layer_norm_eps": 1e-5,
			"num_attention_heads": 2, "num_hidden_layers": layers, "projection_dim": c.Projection,
		}
	}
	text, vision := tower(clipText), tower(clipVision)
	text["vocab_size"], text["max_position_embeddings"], text["eos_token_id"] = c.Vocab, clipPositions, c.End
	vision["image_size"], vision["patch_size"], vision["num_channels"] = c.Image, c.Patch, 3
	return map[string]any{"model_type": "clip", "projection_dim": c.Projection, "text_config": text, "vision_config": vision}
}

// Weights draws the weights.
func (c CLIP) Weights() map[string]*onnx.Tensor {
	d := &drawing{r: rand.New(rand.NewPCG(c.Seed, 3)), w: map[string]*onnx.Tensor{
		"logit_scale": onnx.Float32s(nil, []float32{float32(math.Log(clipScale))}),
	}}
	d.add("text_model.embeddings.token_embedding.weight", 1, c.Vocab, clipText)
	d.add("text_model.embeddings.position_embedding.weight", 0.2, clipPositions, clipText)
	d.tower("text_model.", clipText)
	d.norm("text_model.final_layer_norm", clipText)
	d.add("text_projection.weight", 0.3, c.Projection, clipText)
	places := 1 + (c.Image/c.Patch)*(c.Image/c.Patch)
	d.add("vision_model.embeddings.class_embedding", 1, clipVision)
	d.add("vision_model.embeddings.patch_embedding.weight", 1/float64(c.Patch), clipVision, 3, c.Patch, c.Patch)
	d.add("vision_model.embeddings.position_embedding.weight", 0.2, places, clipVision)
	d.norm("vision_model.pre_layrnorm", clipVision) // misspelt in checkpoints
	d.tower("vision_model.", clipVision)
	d.norm("vision_model.post_layernorm", clipVision)
	d.add("visual_projection.weight", 0.3, c.Projection, clipVision)
	return d.w
}

// drawing collects random weights by name.
type drawing struct {
	r *rand.Rand
	w map[string]*onnx.Tensor
}

// add draws a tensor with the given standard deviation.
func (d *drawing) add(name string, deviation float64, shape ...int64) {
	values := make([]float32, onnx.Elements(shape))
	for i := range values {
		values[i] = float32(d.r.NormFloat64() * deviation)
	}
	d.w[name] = onnx.Float32s(shape, values)
}

func (d *drawing) norm(name string, width int64) {
	d.add(name+".weight", 1, width)
	d.add(name+".bias", 0.3, width)
}

func (d *drawing) dense(name string, in, out int64) {
	d.add(name+".weight", 0.3, out, in)
	d.add(name+".bias", 0.3, out)
}

func (d *drawing) tower(prefix string, width int64) {
	for i := range layers {
		p := fmt.Sprintf("%sencoder.layers.%d.", prefix, i)
		for _, part := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
			d.dense(p+"self_attn."+part, width, width)
		}
		d.norm(p+"layer_norm1", width)
		d.norm(p+"layer_norm2", width)
		d.dense(p+"mlp.fc1", width, 2*width)
		d.dense(p+"mlp.fc2", 2*width, width)
	}
}
