package hf

import (
	"errors"

	"pipe/onnx"
)

// Options say what a graph computes from the last hidden state.
type Options struct {
	Head Head
}

// Head is what turns the hidden states of a text's tokens into one vector.
type Head struct {
	Pooling   string // "": none, the hidden states are the result; "mean" over the tokens; "cls", the first token
	Normalize bool   // to length 1 (L2)
}

// Model builds the graph of the model in a folder: config.json says which
// architecture, model.safetensors holds the weights.
func Model(folder string, o Options) (*onnx.Model, error) {
	return nil, errors.New("not built yet")
}
