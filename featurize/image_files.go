package featurize

import (
	"context"
	"errors"
	"io/fs"

	"pipe/featurize/pixel"
	"pipe/internal/storage"
)

// ImageFiles encodes images from the bytes of their files, within the default
// limits on images. It is safe for concurrent use.
type ImageFiles struct {
	*ImageEncoder
	decoder pixel.Decoder
	limits  pixel.Limits
	gate    *pixel.Gate // limits the decoded images in memory, until the encoder's pixels are made
}

// NewImageFiles returns e for files that d decodes. Its Close closes e.
func NewImageFiles(e *ImageEncoder, d pixel.Decoder) *ImageFiles {
	return &ImageFiles{ImageEncoder: e, decoder: d, limits: pixel.DefaultLimits(), gate: pixel.NewGate(pixel.MostAtOnce)}
}

// Decoder is the decoder's name with its version.
func (f *ImageFiles) Decoder() string { return f.decoder.Name() }

// EncodeFiles writes the vector of each of n images into dst, n x Dim. read
// returns the bytes of the file of one image; it may be called concurrently.
// The first image that cannot be encoded gives an *ImageError.
func (f *ImageFiles) EncodeFiles(ctx context.Context, dst []float32, n int, read func(i int) ([]byte, error)) error {
	return f.EncodePixels(ctx, dst, n, func(dst []uint8, i int) error {
		b, err := read(i)
		if err != nil {
			return err
		}
		return f.pixels(dst, b)
	})
}

// Pixels are the encoder's input for the file of an image, for EncodePixels.
func (f *ImageFiles) Pixels(file []byte) ([]uint8, error) {
	p := f.Preprocess()
	dst := make([]uint8, p.Len())
	return dst, f.pixels(dst, file)
}

// pixels writes the encoder's input pixels for an image that is within the limits.
func (f *ImageFiles) pixels(dst []uint8, file []byte) error {
	if err := f.limits.Check(file); err != nil {
		return err
	}
	width, height, err := pixel.Size(file)
	if err != nil {
		return err
	}
	f.gate.Enter(width * height)
	defer f.gate.Leave(width * height)
	img, err := f.decoder.Decode(file)
	if err != nil {
		return err
	}
	p := f.Preprocess()
	prepared, err := p.Prepare(img, []pixel.View{pixel.Centre()})
	if err != nil {
		return err
	}
	return prepared.Pixels(dst, pixel.Centre())
}

// ReadFile reads the file of an image within the limits. Errors of the file
// system do not name the path.
func (f *ImageFiles) ReadFile(ctx context.Context, path storage.Location) ([]byte, error) {
	b, err := f.limits.ReadFile(ctx, path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, at.Err
	}
	return b, err
}
