package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"pipe/costs/embedding"
	"pipe/costs/identity"
	"pipe/costs/outcome"
	"pipe/featurize"
	"pipe/internal/atomicfile"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// TextVectors opens the encoders of the texts of imports, each once, and keeps every vector in a folder, so that no text
// is encoded twice.
type TextVectors struct {
	folder   string
	progress stage.Progress
	runtime  func() (*ort.Runtime, error)
	encoders map[string]*textVectors
}

// NewTextVectors keeps vectors in folder, which is created when it is needed. runtime is called when the first encoder is
// opened; the caller closes what it returned after Close.
func NewTextVectors(folder string, progress stage.Progress, runtime func() (*ort.Runtime, error)) *TextVectors {
	return &TextVectors{folder: folder, progress: stage.OrQuiet(progress), runtime: sync.OnceValues(runtime), encoders: map[string]*textVectors{}}
}

// Open opens an encoder: a folder, an .onnx file, or a name in the local Hugging Face cache. It is an outcome.OpenText.
func (v *TextVectors) Open(ctx context.Context, name string) (outcome.TextEncoder, error) {
	if e := v.encoders[name]; e != nil {
		return e, nil
	}
	rt, err := v.runtime()
	if err != nil {
		return nil, err
	}
	if _, err := atomicfile.MkdirAll(v.folder); err != nil {
		return nil, err
	}
	encoder, err := featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	kept, err := embedding.New(ctx, encoder, v.folder)
	if err != nil {
		return nil, errors.Join(err, encoder.Close())
	}
	v.encoders[name] = &textVectors{encoder: encoder, kept: kept, progress: v.progress}
	return v.encoders[name], nil
}

// Close closes the encoders.
func (v *TextVectors) Close() error {
	var errs []error
	for _, e := range v.encoders {
		errs = append(errs, e.encoder.Close())
	}
	return errors.Join(errs...)
}

// textVectors is an open encoder, and the vectors that it made before.
type textVectors struct {
	encoder  *featurize.TextEncoder
	kept     *embedding.Embedder
	progress stage.Progress
}

// Identity implements outcome.TextEncoder.
func (e *textVectors) Identity() (name, digest string) {
	name = identity.EncoderName(featurize.InputText, e.encoder.Name())
	return name, identity.Digest(identity.Block{Name: name, Dim: e.encoder.Dim(), Models: []string{e.encoder.Digest()}})
}

// Digest implements outcome.TextEncoder.
func (e *textVectors) Digest() string { return e.encoder.Digest() }

// Vectors implements outcome.TextEncoder.
func (e *textVectors) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	distinct := make(map[string]bool, len(texts))
	for _, text := range texts {
		distinct[text] = true
	}
	if err := e.kept.Ensure(ctx, distinct, e.progress); err != nil {
		return nil, err
	}
	return e.kept.Vectors(ctx, texts)
}
