package feature

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/featurize/pixel"
)

// imageFeatures are the vectors of the instances' images, seen in the plain view.
type imageFeatures struct {
	encoder *featurize.ImageEncoder
	vectors *part.ImageVectors                                                                         // possibly computed by an expert with the same model
	encode  func(ctx context.Context, dst []float32, n int, fill func(dst []uint8, i int) error) error // the encoder's EncodePixels
}

type imageFeaturesSettings struct {
	Encoder   part.Path           `json:"encoder"`             // a folder, an .onnx file, or org/name in the local Hugging Face cache
	Output    string              `json:"output,omitempty"`    // of an .onnx file; "": image_embeds, or the only one
	Precision featurize.Precision `json:"precision,omitempty"` // float32 or float16; "": as an encoder's file has it, else float32

	preprocessSettings
}

// preprocessSettings are the preprocessing for a model whose folder does not define it.
type preprocessSettings struct {
	Resize        int                 `json:"resize,omitempty"` // 0: size
	Size          int                 `json:"size,omitempty"`   // 0: as the folder of the model says
	Interpolation pixel.Interpolation `json:"interpolation"`
	Layout        pixel.Layout        `json:"layout"`
	Mean          part.PerChannel     `json:"mean,omitempty"` // pixels in 0..1; none: 0
	Std           part.PerChannel     `json:"std,omitempty"`  // none: 1
}

func newImageFeatures(ctx context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	cfg := imageFeaturesSettings{preprocessSettings: preprocessSettings{Interpolation: pixel.Bicubic, Layout: pixel.NCHW}}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Encoder == "" {
		return nil, errors.New("encoder: not set")
	}
	if err := cfg.Precision.Validate(); err != nil {
		return nil, err
	}
	preprocess, err := cfg.preprocess()
	if err != nil {
		return nil, err
	}
	if err := s.CheckImages(ctx); err != nil {
		return nil, err
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	o := featurize.ImageModelOptions{Preprocess: preprocess, Output: cfg.Output, Precision: cfg.Precision}
	e, err := featurize.OpenImageEncoder(rt, s.ModelPath(ctx, cfg.Encoder), o, s.Workers)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	s.Input("model", e.Digest())
	vectors, err := part.VectorsOf(s.Build, e.Digest())
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	vectors.Want()
	return &imageFeatures{encoder: e, vectors: vectors, encode: e.EncodePixels}, nil
}

// preprocess returns the preprocessing of the settings, nil if the model's folder defines it.
func (c *preprocessSettings) preprocess() (*pixel.Preprocess, error) {
	if c.Size == 0 {
		if c.Resize != 0 || len(c.Mean) > 0 || len(c.Std) > 0 || c.Interpolation != pixel.Bicubic || c.Layout != pixel.NCHW {
			return nil, errors.New("size: is required with resize, mean, std, layout or interpolation")
		}
		return nil, nil
	}
	p := &pixel.Preprocess{
		Resize: c.Resize, Width: c.Size, Height: c.Size, Interpolation: c.Interpolation, Layout: c.Layout, Std: [3]float32{1, 1, 1},
	}
	if p.Resize == 0 {
		p.Resize = c.Size
	}
	for _, v := range []struct {
		name string
		from part.PerChannel
		to   *[3]float32
	}{{"mean", c.Mean, &p.Mean}, {"std", c.Std, &p.Std}} {
		if len(v.from) != 0 && len(v.from) != 3 {
			return nil, fmt.Errorf("%s has %d values; 3 are required, one per channel", v.name, len(v.from))
		}
		copy(v.to[:], v.from)
	}
	return p, p.Validate()
}

// Name is the encoder's.
func (f *imageFeatures) Name() string {
	return identity.EncoderName(featurize.InputImage, f.encoder.Name())
}

// Dim is that of the encoder.
func (f *imageFeatures) Dim() int { return f.encoder.Dim() }

// Encode takes the vectors that an expert has computed for a batch, and runs the encoder for the others. It shares
// resized images with the experts.
func (f *imageFeatures) Encode(ctx context.Context, dst []float32, b *part.Batch) error {
	batch, err := part.Sized(b.Instances, nil)
	if err != nil {
		return err
	}
	dim := f.Dim()
	var missing []int
	for n := range batch {
		if copy(dst[n*dim:(n+1)*dim], f.vectors.Of(batch[n].Sizes)) != dim {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	made := make([]float32, len(missing)*dim)
	if err := f.run(ctx, made, batch, missing); err != nil {
		return err
	}
	for i, n := range missing {
		copy(dst[n*dim:(n+1)*dim], made[i*dim:(i+1)*dim])
	}
	return nil
}

// run writes the vectors of some instances of a batch, one after the other.
func (f *imageFeatures) run(ctx context.Context, dst []float32, batch []part.Instance, rows []int) error {
	err := f.encode(ctx, dst, len(rows), func(dst []uint8, i int) error {
		prepared, err := batch[rows[i]].Sizes.Prepared(f.encoder.Preprocess())
		if err != nil {
			return err
		}
		return prepared.Pixels(dst, pixel.Centre())
	})
	if bad, ok := errors.AsType[*featurize.ImageError](err); ok {
		return &costs.DataError{Msg: fmt.Sprintf("instance %q", batch[rows[bad.Index]].ID), Err: bad.Err}
	}
	return err
}

// Close frees the encoder.
func (f *imageFeatures) Close() error { return f.encoder.Close() }
