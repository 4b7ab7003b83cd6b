package part

import (
	"context"

	"pipe/onnx/ort"
)

// TextEncoder turns texts into vectors. It is safe for concurrent use.
type TextEncoder interface {
	Name() string // of the model, wherever it lies
	Dim() int
	Digest() string // of all that the vectors depend on
	// Encode writes the vector of every text into dst, len(texts) x Dim. A text's
	// vector does not depend on the other texts.
	Encode(ctx context.Context, dst []float32, texts []string) error
	Close() error
}

// TextEncoders opens an encoder by the path of a folder or an .onnx file, or by its name, org/name, in the local Hugging
// Face cache. The build closes it.
type TextEncoders func(rt *ort.Runtime, name string) (TextEncoder, error)
