package hf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/onnx"
)

// Options say what a graph computes.
type Options struct {
	Head  *Head // from hidden states to one vector; nil: what the model makes is the result
	Tower Tower // of a model that has several
}

// UnknownArchitectureError says that there is no graph for a model_type.
type UnknownArchitectureError struct {
	ModelType string
}

func (e *UnknownArchitectureError) Error() string {
	return fmt.Sprintf("model_type %q is not known; known are %s",
		e.ModelType, strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
}

// Hint names the other road.
func (e *UnknownArchitectureError) Hint() string {
	return "an ONNX export in the folder, onnx/model.onnx, is used as it is"
}

// architecture is what a model_type stands for.
type architecture struct {
	towers   map[Tower]builder
	describe func(folder string, c *Config) error // completes c from the configurations of the towers; nil: the tower has no name
	shifted  bool                                 // positions count from one past the padding token's id
}

// builder makes the graph of one tower.
type builder func(folder string, w *weights, o Options) (*onnx.Model, error)

func oneTower(b builder) map[Tower]builder { return map[Tower]builder{"": b} }

// architectures are known by the model_type of config.json.
var architectures = map[string]architecture{
	"bert":              {towers: oneTower(buildBERT)},
	"camembert":         {towers: oneTower(buildRoBERTa), shifted: true},
	"clip":              {towers: map[Tower]builder{TowerText: buildCLIPText, TowerVision: buildCLIPVision}, describe: describeCLIP},
	"clip_vision_model": {towers: map[Tower]builder{TowerVision: buildCLIPVisionAlone}, describe: describeCLIPVision},
	"distilbert":        {towers: oneTower(buildDistilBERT)},
	"roberta":           {towers: oneTower(buildRoBERTa), shifted: true},
	"xlm-roberta":       {towers: oneTower(buildRoBERTa), shifted: true},
}

// Model builds the graph of the model in a folder: config.json names the
// architecture, model.safetensors, or the shards of its index, holds the
// weights. Encoders of texts have the inputs input_ids, attention_mask and, where
// the architecture has them, token_type_ids, int64 [batch, sequence]; the output
// is last_hidden_state, float32 [batch, sequence, width], or with a head
// sentence_embedding, float32 [batch, width].
//
// Of a model with several towers, one has to be named. TowerText has the inputs
// input_ids and attention_mask and the output text_embeds, TowerVision the input
// pixel_values, float32 [batch, 3, size, size], and the output image_embeds; both
// are float32 [batch, width]. A vision tower alone that has no projection has the
// output pooler_output, float32 [batch, hidden].
//
// An architecture that is not known is an *UnknownArchitectureError.
func Model(folder string, o Options) (*onnx.Model, error) {
	c, err := ReadConfig(folder)
	if err != nil {
		return nil, err
	}
	m, err := buildModel(folder, c, o)
	if err != nil {
		return nil, fmt.Errorf("build model of %q: %w", folder, err)
	}
	return m, nil
}

func buildModel(folder string, c *Config, o Options) (*onnx.Model, error) {
	a, ok := architectures[c.ModelType]
	if !ok {
		return nil, &UnknownArchitectureError{c.ModelType}
	}
	build := a.towers[o.Tower]
	if build == nil {
		return nil, fmt.Errorf("%s has the towers %q, not %q", c.ModelType, slices.Sorted(maps.Keys(a.towers)), o.Tower)
	}
	w, err := openWeights(folder)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return build(folder, w, o)
}
