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
	Head *Head // from hidden states to one vector; nil: the hidden states are the result
}

// UnknownArchitectureError says that there is no graph for a model_type.
type UnknownArchitectureError struct {
	Folder, ModelType string
}

func (e *UnknownArchitectureError) Error() string {
	return fmt.Sprintf("build model of %q: model_type %q is not known; known are %s",
		e.Folder, e.ModelType, strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
}

// Hint names the other road.
func (e *UnknownArchitectureError) Hint() string {
	return "an ONNX export in the folder, onnx/model.onnx, is used as it is"
}

// architecture is what a model_type stands for.
type architecture struct {
	build   func(folder string, w *weights, o Options) (*onnx.Model, error)
	shifted bool // positions count from one past the padding token's id
}

// architectures are known by the model_type of config.json.
var architectures = map[string]architecture{
	"bert":        {build: buildBERT},
	"camembert":   {build: buildRoBERTa, shifted: true},
	"distilbert":  {build: buildDistilBERT},
	"roberta":     {build: buildRoBERTa, shifted: true},
	"xlm-roberta": {build: buildRoBERTa, shifted: true},
}

// Model builds the graph of the model in a folder: config.json names the
// architecture, model.safetensors, or the shards of its index, holds the
// weights. Inputs are input_ids, attention_mask and, where the architecture has
// them, token_type_ids, int64 [batch, sequence]; the output is last_hidden_state, float32 [batch, sequence,
// width], or with a head sentence_embedding, float32 [batch, width]. An
// architecture that is not known is an *UnknownArchitectureError.
func Model(folder string, o Options) (*onnx.Model, error) {
	c, err := ReadConfig(folder)
	if err != nil {
		return nil, err
	}
	build := architectures[c.ModelType].build
	if build == nil {
		return nil, &UnknownArchitectureError{folder, c.ModelType}
	}
	w, err := openWeights(folder)
	if err != nil {
		return nil, fmt.Errorf("build model of %q: %w", folder, err)
	}
	defer w.close()
	m, err := build(folder, w, o)
	if err != nil {
		return nil, fmt.Errorf("build model of %q: %w", folder, err)
	}
	return m, nil
}
