package decide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// imageEncoder decodes images and encodes them.
type imageEncoder struct {
	*featurize.ImageEncoder
	decoder pixel.Decoder
	limits  pixel.Limits
	gate    *pixel.Gate // limits the decoded images in memory, until the encoder's pixels are made
}

func openImages(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (vectors, error) {
	d, err := pixel.OpenDecoder(o.decoder)
	if err != nil {
		return nil, err
	}
	e, err := openImageModel(rt, inside, o.name, o.workers)
	if err != nil {
		return nil, err
	}
	return &imageEncoder{ImageEncoder: e, decoder: d, limits: pixel.DefaultLimits(), gate: pixel.NewGate(pixel.MostAtOnce)}, nil
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
func (e *imageEncoder) field(folder string) func(ctx context.Context, dst []float32, paths []string) error {
	return func(ctx context.Context, dst []float32, paths []string) error {
		err := e.encodeFiles(ctx, dst, len(paths), func(i int) ([]byte, error) { return e.readFile(folder, paths[i]) })
		var bad *policy.RowError
		if errors.As(err, &bad) {
			return &policy.RowError{Row: bad.Row, Err: fmt.Errorf("image %q: %w", paths[bad.Row], bad.Err)}
		}
		return err
	}
}

// encodeFiles writes the vector of each of n images into dst, n x dimension. read returns the bytes of one image; it
// may be called concurrently. An error for an image is a *RowError of the first one that failed.
func (e *imageEncoder) encodeFiles(ctx context.Context, dst []float32, n int, read func(i int) ([]byte, error)) error {
	err := e.EncodePixels(ctx, dst, n, func(dst []uint8, i int) error {
		b, err := read(i)
		if err != nil {
			return err
		}
		return e.pixels(dst, b)
	})
	var bad *featurize.ImageError
	if errors.As(err, &bad) {
		return &policy.RowError{Row: bad.Index, Err: bad.Err}
	}
	return err
}

// pixels writes the encoder's input pixels for an image that is within the limits.
func (e *imageEncoder) pixels(dst []uint8, file []byte) error {
	if err := e.limits.Check(file); err != nil {
		return err
	}
	width, height, err := pixel.Size(file)
	if err != nil {
		return err
	}
	e.gate.Enter(width * height)
	defer e.gate.Leave(width * height)
	img, err := e.decoder.Decode(file)
	if err != nil {
		return err
	}
	prepared, err := e.Preprocess().Prepare(img, []pixel.View{pixel.Centre()})
	if err != nil {
		return err
	}
	return prepared.Pixels(dst, pixel.Centre())
}

// readFile reads the file of an image, whose path may be relative to a folder.
func (e *imageEncoder) readFile(folder, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("the path is empty")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	b, err := e.limits.ReadFile(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, at.Err // the caller names the path
	}
	return b, err
}
