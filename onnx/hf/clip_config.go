package hf

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// clipConfig is a tower of the config.json of model_type clip. Newer files omit default values.
type clipConfig struct {
	Layers       int64   `json:"num_hidden_layers"`
	Heads        int64   `json:"num_attention_heads"`
	Hidden       int64   `json:"hidden_size"`
	Intermediate int64   `json:"intermediate_size"`
	Epsilon      float64 `json:"layer_norm_eps"`
	Activation   string  `json:"hidden_act"`
	Projection   int64   `json:"-"` // projection_dim of the whole model

	// For the text tower.
	Vocab     int64 `json:"vocab_size"`
	Positions int64 `json:"max_position_embeddings"`
	End       int64 `json:"eos_token_id"`

	// For the image tower.
	Channels int64 `json:"num_channels"`
	Image    int64 `json:"image_size"`
	Patch    int64 `json:"patch_size"`
}

// clipProjectionDefault is the width of the common space if projection_dim is omitted.
const clipProjectionDefault = 512

// clipDefaults are those of the official library.
func clipDefaults(t Tower) clipConfig {
	c := clipConfig{
		Layers: 12, Heads: 12, Hidden: 768, Intermediate: 3072, Epsilon: 1e-5, Activation: "quick_gelu",
		Vocab: 49408, Positions: 77, End: 49407, Channels: 3, Image: 224, Patch: 32,
	}
	if t == TowerText {
		c.Heads, c.Hidden, c.Intermediate = 8, 512, 2048
	}
	return c
}

// readCLIP reads the configuration of a tower.
func readCLIP(folder string, t Tower) (*clipConfig, error) {
	whole := struct {
		Projection int64           `json:"projection_dim"`
		Text       json.RawMessage `json:"text_config"`
		Vision     json.RawMessage `json:"vision_config"`
	}{Projection: clipProjectionDefault}
	if err := readJSON(folder, configFile, &whole); err != nil {
		return nil, err
	}
	c, section := clipDefaults(t), whole.Text
	if t == TowerVision {
		section = whole.Vision
	}
	if len(section) > 0 {
		if err := json.Unmarshal(section, &c); err != nil {
			return nil, fmt.Errorf("read model: %q: %s_config: %w", filepath.Join(folder, configFile), t, err)
		}
	}
	c.Projection = whole.Projection
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("read model: %q: %s_config: %w", filepath.Join(folder, configFile), t, err)
	}
	return &c, nil
}

// end is the id of the token that ends a text. Early checkpoints state the id 2, which the tokenizer never produces;
// for them it is the largest id in the text, as in the original model.
func (c *clipConfig) end() int64 {
	const misstated = 2
	if c.End == misstated {
		return LargestEnd
	}
	return c.End
}

func (c *clipConfig) validate() error {
	err := checkSizes(map[string]int64{
		"num_hidden_layers": c.Layers, "num_attention_heads": c.Heads, "hidden_size": c.Hidden, "intermediate_size": c.Intermediate,
		"projection_dim": c.Projection, "vocab_size": c.Vocab, "max_position_embeddings": c.Positions,
		"image_size": c.Image, "patch_size": c.Patch,
	})
	switch {
	case err != nil:
		return err
	case c.End < 0:
		return fmt.Errorf("eos_token_id is %d", c.End)
	case c.Channels != 3:
		return fmt.Errorf("num_channels is %d; images have 3", c.Channels)
	case c.Patch > c.Image:
		return fmt.Errorf("patch_size %d is more than image_size %d", c.Patch, c.Image)
	}
	return checkLayers(c.Hidden, c.Heads, c.Epsilon, c.Activation)
}

// describeCLIP completes a configuration with those of both towers.
func describeCLIP(folder string, c *Config) error {
	text, err := readCLIP(folder, TowerText)
	if err != nil {
		return err
	}
	vision, err := readCLIP(folder, TowerVision)
	if err != nil {
		return err
	}
	c.End = text.end()
	c.VocabSize, c.MaxPositions, c.ImageSize = text.Vocab, text.Positions, vision.Image
	return nil
}
