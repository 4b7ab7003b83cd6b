package hf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/onnx"
)

// UnknownArchitectureError means that the graph of a model_type is not known.
type UnknownArchitectureError struct {
	ModelType string
}

func (e *UnknownArchitectureError) Error() string {
	return fmt.Sprintf("model_type %q is not known; known are %s",
		e.ModelType, strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
}

// Hint names the alternative.
func (e *UnknownArchitectureError) Hint() string {
	return "an ONNX export in the folder, onnx/model.onnx, is used as it is"
}

// architecture describes a model_type.
type architecture struct {
	towers   map[Tower]builder
	describe func(folder string, c *Config) error // completes c from the configurations of the towers; nil if the tower has no name
	shifted  bool                                 // positions count from one past the padding token's id
}

// builder builds the graph of one tower.
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
