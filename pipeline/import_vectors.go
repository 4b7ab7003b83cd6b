package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"pipe/costs/identity"
	"pipe/costs/outcome"
	"pipe/experts/builder/part"
	"pipe/experts/embedding"
	"pipe/featurize"
	"pipe/internal/atomicfile"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// ImportVectors opens the encoders of imports, each once, and keeps every vector in a folder, so that no text and no image
// is encoded twice.
type ImportVectors struct {
	folder   string
	progress stage.Progress
	runtime  func() (*ort.Runtime, error)
	open     map[string]*importVectors
}

// NewImportVectors keeps vectors in folder, which is created when it is needed. runtime is called when the first encoder
// is opened; the caller closes what it returned after Close.
func NewImportVectors(folder string, progress stage.Progress, runtime func() (*ort.Runtime, error)) *ImportVectors {
	return &ImportVectors{folder: folder, progress: stage.OrQuiet(progress), runtime: sync.OnceValues(runtime), open: map[string]*importVectors{}}
}

// OpenText opens an encoder of texts: a folder, an .onnx file, or a name in the local Hugging Face cache. It is an
// outcome.OpenEncoder.
func (v *ImportVectors) OpenText(ctx context.Context, name, _ string) (outcome.Encoder, error) {
	return v.opened(ctx, featurize.InputText+" "+name, func(rt *ort.Runtime) (*importVectors, error) {
		e, err := featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
		return &importVectors{encoder: e, input: featurize.InputText}, err
	})
}

// OpenImage opens an encoder of images by the same names, and their decoder. It is an outcome.OpenEncoder.
func (v *ImportVectors) OpenImage(ctx context.Context, name, decoder string) (outcome.Encoder, error) {
	return v.opened(ctx, featurize.InputImage+" "+decoder+" "+name, func(rt *ort.Runtime) (*importVectors, error) {
		files, err := openImageFiles(rt, name, decoder)
		return &importVectors{encoder: files, input: featurize.InputImage, images: files}, err
	})
}

// opened returns an encoder that is open, or opens it and the vectors that it made before.
func (v *ImportVectors) opened(ctx context.Context, key string, open func(*ort.Runtime) (*importVectors, error)) (*importVectors, error) {
	if e := v.open[key]; e != nil {
		return e, nil
	}
	rt, err := v.runtime()
	if err != nil {
		return nil, err
	}
	if _, err := atomicfile.MkdirAll(v.folder); err != nil {
		return nil, err
	}
	e, err := open(rt)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	e.progress = v.progress
	if e.kept, err = embedding.New(ctx, e.encoder, v.folder, e.input+"s"); err != nil {
		return nil, errors.Join(err, e.encoder.Close())
	}
	v.open[key] = e
	return e, nil
}

// Close closes the encoders.
func (v *ImportVectors) Close() error {
	var errs []error
	for _, e := range v.open {
		errs = append(errs, e.encoder.Close())
	}
	return errors.Join(errs...)
}

// importVectors is an open encoder, and the vectors that it made before.
type importVectors struct {
	encoder  part.TextEncoder
	input    string
	images   *imageFiles // nil for texts
	kept     *embedding.Embedder
	progress stage.Progress
}

// Identity implements outcome.Encoder.
func (e *importVectors) Identity() (name, digest string) {
	name = identity.EncoderName(e.input, e.encoder.Name())
	return name, identity.Digest(identity.Block{Name: name, Dim: e.encoder.Dim(), Models: []string{e.encoder.Digest()}})
}

// Digest implements outcome.Encoder.
func (e *importVectors) Digest() string { return e.encoder.Digest() }

// Decoder implements outcome.Encoder.
func (e *importVectors) Decoder() string {
	if e.images == nil {
		return ""
	}
	return e.images.files.Decoder()
}

// Vectors implements outcome.Encoder.
func (e *importVectors) Vectors(ctx context.Context, values []string) ([][]float32, error) {
	if e.images != nil {
		var err error
		if values, err = e.images.keys(ctx, values, e.progress); err != nil {
			return nil, err
		}
	}
	distinct := make(map[string]bool, len(values))
	for _, v := range values {
		distinct[v] = true
	}
	if err := e.kept.Ensure(ctx, distinct, e.progress); err != nil {
		return nil, err
	}
	return e.kept.Vectors(ctx, values)
}
