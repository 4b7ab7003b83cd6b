package hf

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"pipe/onnx"
)

// ReadConfig reads the config.json of a folder.
func ReadConfig(folder string) (*Config, error) {
	c, err := readConfig(folder)
	if err != nil {
		return nil, err
	}
	a := architectures[c.ModelType]
	if a.describe != nil {
		c.Towers = slices.Sorted(maps.Keys(a.towers))
		if err := a.describe(folder, c); err != nil {
			return nil, err
		}
	}
	if a.shifted {
		if c.PadID < 0 || c.PadID > c.MaxPositions-2 {
			return nil, fmt.Errorf("read model: %q: pad_token_id %d leaves no position of %d", filepath.Join(folder, configFile), c.PadID, c.MaxPositions)
		}
		c.MaxPositions -= c.PadID + 1
	}
	return c, nil
}

// Model builds the graph of the model in a folder. config.json names the architecture; model.safetensors, or the shards
// of its index, have the weights. Text encoders have the inputs input_ids, attention_mask and, if the architecture has
// them, token_type_ids, int64 [batch, sequence]. The output is last_hidden_state, float32 [batch, sequence, width], or
// with a head sentence_embedding, float32 [batch, width].
//
// Of a model with several towers, one must be named. TowerText has the inputs input_ids and attention_mask and the
// output text_embeds. TowerVision has the input pixel_values, float32 [batch, 3, size, size], and the output
// image_embeds. Both outputs are float32 [batch, width]. A separate vision tower without a projection has the output
// pooler_output, float32 [batch, hidden].
//
// An unknown architecture is an *UnknownArchitectureError.
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
