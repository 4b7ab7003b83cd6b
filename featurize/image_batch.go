package featurize

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/featurize/pixel"
	"pipe/internal/parallel"
	"pipe/onnx"
)

// batchImages is the number of images in a batch. It is constant, so that
// results do not depend on the number of workers.
const batchImages = 16

// ImageError says which image of a call cannot be encoded.
type ImageError struct {
	Index int // from 0
	Err   error
}

func (e *ImageError) Error() string { return fmt.Sprintf("image %d: %v", e.Index, e.Err) }

// Unwrap returns the underlying error.
func (e *ImageError) Unwrap() error { return e.Err }

// Encode writes the vector of the central view of every image into dst,
// len(images) x Dim. An image that cannot be encoded is an *ImageError.
func (e *ImageEncoder) Encode(ctx context.Context, dst []float32, images []*pixel.Image) error {
	return e.EncodePixels(ctx, dst, len(images), func(dst []uint8, i int) error {
		prepared, err := e.preprocess.Prepare(images[i], []pixel.View{pixel.Centre()})
		if err != nil {
			return err
		}
		return prepared.Pixels(dst, pixel.Centre())
	})
}

// EncodePixels is Encode of n images that need not be in memory together: fill
// writes the input of the graph for one image, like Prepared.Pixels of
// Preprocess. It is called once per image, from several goroutines. The first
// image for which it fails gives an *ImageError.
func (e *ImageEncoder) EncodePixels(ctx context.Context, dst []float32, n int, fill func(dst []uint8, i int) error) error {
	if len(dst) != n*e.dim {
		return fmt.Errorf("encode images: dst has %d values; %d images need %d", len(dst), n, n*e.dim)
	}
	err := parallel.Each(ctx, e.workers, (n+e.batch-1)/e.batch, func(ctx context.Context, i int) error {
		from, to := i*e.batch, min((i+1)*e.batch, n)
		return e.encodeBatch(ctx, dst[from*e.dim:to*e.dim], from, to, fill)
	})
	if err != nil {
		return fmt.Errorf("encode images: %w", err)
	}
	return nil
}

// encodeBatch writes the vectors of the images between two positions.
func (e *ImageEncoder) encodeBatch(ctx context.Context, dst []float32, from, to int, fill func(dst []uint8, i int) error) error {
	n, size := e.rows(to-from), e.preprocess.Len()
	pixels := make([]uint8, n*size)
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fill(pixels[(i-from)*size:(i-from+1)*size], i); err != nil {
			return &ImageError{i, err}
		}
	}
	out, err := e.run(ctx, n, pixels)
	if err != nil {
		return err
	}
	if want := []int64{int64(n), int64(e.dim)}; !slices.Equal(out.Shape, want) {
		return fmt.Errorf("the graph returns vectors of shape %v, not %v", out.Shape, want)
	}
	for i := range to - from {
		if !decodeRow(dst[i*e.dim:(i+1)*e.dim], out.Raw[4*i*e.dim:]) {
			return &ImageError{from + i, errors.New("the vector is not finite")}
		}
	}
	return nil
}

// rows is the size of the batch for some images; black images fill it up.
func (e *ImageEncoder) rows(images int) int {
	if e.fixed {
		return e.batch
	}
	return max(images, 2) // one row alone rounds otherwise, as for texts
}

// run computes the vectors of n images.
func (e *ImageEncoder) run(ctx context.Context, n int, pixels []uint8) (*onnx.Tensor, error) {
	shape := []int64{int64(n), int64(e.preprocess.Height), int64(e.preprocess.Width), 3}
	out, err := e.session.Run(ctx, map[string]*onnx.Tensor{PixelsInput: onnx.Uint8s(shape, pixels)})
	if err != nil {
		return nil, err
	}
	return out[ImageEmbedding], nil
}
