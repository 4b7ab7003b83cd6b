package featurize

import (
	"context"
	"errors"

	"pipe/onnx/ort"
)

// TextEncoderOptions say how texts are encoded. The zero value is not useful;
// start from DefaultTextEncoderOptions.
type TextEncoderOptions struct {
	MaxLength int // most tokens of a text, special ones counted; 0: as the model's folder says
	Workers   int // batches encoded side by side; 0: as many as Go uses
}

// DefaultTextEncoderOptions is what the model's folder says, on all cores.
func DefaultTextEncoderOptions() TextEncoderOptions { return TextEncoderOptions{} }

// TextEncoder turns texts into vectors. It is safe for concurrent use.
type TextEncoder struct{}

// OpenTextEncoder opens an encoder: a folder as Hugging Face keeps models, an
// .onnx file, or the name of a model in the local cache.
func OpenTextEncoder(rt *ort.Runtime, name string, o TextEncoderOptions) (*TextEncoder, error) {
	return nil, errors.New("not built yet")
}

// Dim is the length of a vector.
func (e *TextEncoder) Dim() int { return 0 }

// Digest identifies what the vectors depend on: weights, tokenizer, settings.
func (e *TextEncoder) Digest() string { return "" }

// Encode writes the vector of every text into dst, len(texts) x Dim. A text's
// vector does not depend on the other texts.
func (e *TextEncoder) Encode(ctx context.Context, dst []float32, texts []string) error {
	return errors.New("not built yet")
}

// Close frees the model.
func (e *TextEncoder) Close() error { return nil }
