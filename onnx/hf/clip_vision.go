package hf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pipe/onnx"
)

// visionPrefix is the prefix of the weights of a vision tower.
const visionPrefix = "vision_model."

// Architectures of model_type clip_vision_model, by their class in the official library.
const (
	clipPooled    = "CLIPVisionModel"               // the vector is pooler_output
	clipProjected = "CLIPVisionModelWithProjection" // the vector is image_embeds
)

// clipVision is the config.json of a vision tower that was saved alone.
type clipVision struct {
	clipConfig
	Architectures []string `json:"architectures"`
	Width         int64    `json:"projection_dim"`
}

func readCLIPVision(folder string) (*clipVision, error) {
	c := &clipVision{clipConfig: clipDefaults(TowerVision), Width: clipProjectionDefault}
	if err := readJSON(folder, configFile, c); err != nil {
		return nil, err
	}
	c.Projection = c.Width
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("read model: %q: %w", filepath.Join(folder, configFile), err)
	}
	return c, nil
}

// projects reports whether the vector is the projected one. The class of the model decides, else the weights.
func (c *clipVision) projects(w *weights) bool {
	switch {
	case slices.Contains(c.Architectures, clipProjected):
		return true
	case slices.Contains(c.Architectures, clipPooled):
		return false
	}
	return w.has("visual_projection.weight")
}

// describeCLIPVision completes the configuration of a separate tower.
func describeCLIPVision(folder string, c *Config) error {
	vision, err := readCLIPVision(folder)
	if err != nil {
		return err
	}
	c.ImageSize = vision.Image
	return nil
}

// buildCLIPVisionAlone builds a vision tower that was saved without the other tower. Its weights may have the names of
// the whole model, or lack the prefix.
func buildCLIPVisionAlone(folder string, w *weights, o Options) (*onnx.Model, error) {
	config, err := readCLIPVision(folder)
	if err != nil {
		return nil, err
	}
	prefix := visionPrefix
	if !w.hasPrefix(prefix) {
		prefix = ""
	}
	c := newCLIP(&config.clipConfig, prefix, w)
	if config.projects(w) {
		return c.finish(ImageEmbeds, c.projected(c.image()), o.Head)
	}
	return c.finish(imagePooled, c.firstPlace(c.unfold(c.image(), c.Hidden)), o.Head)
}

// hasPrefix reports whether a tensor has a name with the prefix.
func (w *weights) hasPrefix(prefix string) bool {
	for name := range w.where {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
