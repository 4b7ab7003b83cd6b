package imports

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
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// Vectors opens the encoders of imports, each once, and keeps every vector in a folder, so that no text and no image
// is encoded twice.
type Vectors struct {
	folder   string
	progress stage.Progress
	runtime  func() (*ort.Runtime, error)
	open     map[string]*keptEncoder
}

// NewVectors keeps vectors in folder, which is created when it is needed. runtime is called when the first encoder
// is opened; the caller closes what it returned after Close.
func NewVectors(folder string, progress stage.Progress, runtime func() (*ort.Runtime, error)) *Vectors {
	return &Vectors{folder: folder, progress: stage.OrQuiet(progress), runtime: sync.OnceValues(runtime), open: map[string]*keptEncoder{}}
}

// OpenText opens an encoder of texts: a folder, an .onnx file, or a name in the local Hugging Face cache. It is an
// outcome.OpenEncoder.
func (v *Vectors) OpenText(ctx context.Context, name, _ string) (outcome.Encoder, error) {
	return v.opened(ctx, featurize.InputText+" "+name, func(rt *ort.Runtime) (*keptEncoder, error) {
		name, err := hf.Fetch(ctx, name)
		if err != nil {
			return nil, err
		}
		e, err := featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
		return &keptEncoder{encoder: e, input: featurize.InputText}, err
	})
}

// OpenImage opens an encoder of images by the same names, and their decoder. It is an outcome.OpenEncoder.
func (v *Vectors) OpenImage(ctx context.Context, name, decoder string) (outcome.Encoder, error) {
	return v.opened(ctx, featurize.InputImage+" "+decoder+" "+name, func(rt *ort.Runtime) (*keptEncoder, error) {
		name, err := hf.Fetch(ctx, name)
		if err != nil {
			return nil, err
		}
		files, err := openImageFiles(rt, name, decoder)
		return &keptEncoder{encoder: files, input: featurize.InputImage, images: files}, err
	})
}

// opened returns an encoder that is open, or opens it and the vectors that it made before.
func (v *Vectors) opened(ctx context.Context, key string, open func(*ort.Runtime) (*keptEncoder, error)) (*keptEncoder, error) {
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
func (v *Vectors) Close() error {
	var errs []error
	for _, e := range v.open {
		errs = append(errs, e.encoder.Close())
	}
	return errors.Join(errs...)
}

// keptEncoder is an open encoder, and the vectors that it made before.
type keptEncoder struct {
	encoder  part.TextEncoder
	input    string
	images   *imageFiles // nil for texts
	kept     *embedding.Embedder
	progress stage.Progress
}

// Identity implements outcome.Encoder.
func (e *keptEncoder) Identity() (name, digest string) {
	name = identity.EncoderName(e.input, e.encoder.Name())
	return name, identity.Digest(identity.Block{Name: name, Dim: e.encoder.Dim(), Models: []string{e.encoder.Digest()}})
}

// Digest implements outcome.Encoder.
func (e *keptEncoder) Digest() string { return e.encoder.Digest() }

// Decoder implements outcome.Encoder.
func (e *keptEncoder) Decoder() string {
	if e.images == nil {
		return ""
	}
	return e.images.files.Decoder()
}

// Vectors implements outcome.Encoder.
func (e *keptEncoder) Vectors(ctx context.Context, values []string) ([][]float32, error) {
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
