package decide

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// imageEncoder encodes images from their files.
type imageEncoder struct{ *featurize.ImageFiles }

func openImages(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (vectors, error) {
	d, err := pixel.OpenDecoder(o.decoder)
	if err != nil {
		return nil, err
	}
	e, err := openImageModel(rt, inside, o.name, o.workers)
	if err != nil {
		return nil, err
	}
	return &imageEncoder{featurize.NewImageFiles(e, d)}, nil
}

// openImageModel opens the encoder inside the policy, if there is one, else the encoder of that name.
func openImageModel(rt *ort.Runtime, inside *onnx.Model, name string, workers int) (*featurize.ImageEncoder, error) {
	if inside == nil {
		return featurize.OpenImageEncoder(rt, name, featurize.DefaultImageModelOptions(), workers)
	}
	m, err := featurize.ParseImageModel(inside)
	if err != nil {
		return nil, err
	}
	return m.Open(rt, workers)
}

// most is small: images in memory are large.
func (e *imageEncoder) most() int { return 256 }

// field encodes images that rows name by their paths.
func (e *imageEncoder) field(folder storage.Location) func(ctx context.Context, dst []float32, paths []string) error {
	return func(ctx context.Context, dst []float32, paths []string) error {
		err := e.encodeFiles(ctx, dst, len(paths), func(i int) ([]byte, error) { return e.readFile(ctx, folder, paths[i]) })
		if bad, ok := errors.AsType[*policy.RowError](err); ok {
			return &policy.RowError{Row: bad.Row, Err: fmt.Errorf("image %q: %w", paths[bad.Row], bad.Err)}
		}
		return err
	}
}

// encodeFiles is EncodeFiles with a *RowError of the first image that failed.
func (e *imageEncoder) encodeFiles(ctx context.Context, dst []float32, n int, read func(i int) ([]byte, error)) error {
	return rowOfImage(e.EncodeFiles(ctx, dst, n, read))
}

// rowOfImage makes a *RowError of the error about an image.
func rowOfImage(err error) error {
	if bad, ok := errors.AsType[*featurize.ImageError](err); ok {
		return &policy.RowError{Row: bad.Index, Err: bad.Err}
	}
	return err
}

// readFile reads the file of an image, whose path may be relative to a folder.
func (e *imageEncoder) readFile(ctx context.Context, folder storage.Location, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("the path is empty")
	}
	at := folder.Join(path)
	if filepath.IsAbs(path) {
		at = storage.File(path)
	}
	return e.ReadFile(ctx, at)
}
