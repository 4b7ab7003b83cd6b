package pixel

import (
	"errors"
	"fmt"
	"math"
)

// Layout is the order of the axes of an image in a model's input.
type Layout string

// The layouts, both with a leading batch axis.
const (
	NCHW Layout = "nchw" // channels first
	NHWC Layout = "nhwc" // channels last
)

// maxInputSide limits the side of images that a model requires; known models
// stay below a quarter of it.
const maxInputSide = 8192

// Preprocess describes what happens to an image before it is given to a model.
// The image is resized so that its shorter side has Resize pixels; the longer
// side is truncated to whole pixels. A crop of Width x Height is cut out. The
// model's value of a pixel v in 0..255 is (v/255 - Mean)/Std per channel, RGB,
// in the order of Layout.
type Preprocess struct {
	Resize        int           `json:"resize"` // shorter side in pixels; 0: images must already have the model's size
	Width         int           `json:"width"`  // of the crop, which is the model's input
	Height        int           `json:"height"`
	Interpolation Interpolation `json:"interpolation"` // of the resizing; "" if there is none
	Layout        Layout        `json:"layout"`
	Mean          [3]float32    `json:"mean"`
	Std           [3]float32    `json:"std"`
}

// CLIPPreprocess returns CLIP's preprocessing for a model of size x size
// pixels (https://github.com/openai/CLIP).
func CLIPPreprocess(size int) Preprocess {
	return Preprocess{
		Resize: size, Width: size, Height: size, Interpolation: Bicubic, Layout: NCHW,
		Mean: [3]float32{0.48145466, 0.4578275, 0.40821073},
		Std:  [3]float32{0.26862954, 0.26130258, 0.27577711},
	}
}

// Validate reports every invalid setting.
func (p Preprocess) Validate() error {
	var errs []error
	if p.Layout != NCHW && p.Layout != NHWC {
		errs = append(errs, fmt.Errorf("unknown layout %q; known are %s, %s", p.Layout, NCHW, NHWC))
	}
	if p.Width <= 0 || p.Height <= 0 || max(p.Width, p.Height, p.Resize) > maxInputSide {
		errs = append(errs, fmt.Errorf("input is %d x %d pixels of images resized to %d; sides must be from 1 to %d", p.Width, p.Height, p.Resize, maxInputSide))
	}
	if p.Resize != 0 {
		if p.Resize < max(p.Width, p.Height) {
			errs = append(errs, fmt.Errorf("images resized to %d pixels on the shorter side are too small for a crop of %d x %d", p.Resize, p.Width, p.Height))
		}
		if _, err := p.Interpolation.filter(); err != nil {
			errs = append(errs, err)
		}
	}
	for c := range 3 {
		if s := p.Std[c]; !(s > 0) || s-s != 0 || p.Mean[c]-p.Mean[c] != 0 {
			errs = append(errs, fmt.Errorf("channel %d has mean %v and standard deviation %v; both must be finite, and the deviation positive", c, p.Mean[c], s))
		}
	}
	return errors.Join(errs...)
}

// Geometry is the part of Preprocess that determines which pixels a model sees.
// It omits the scaling and layout of their values.
type Geometry struct {
	Resize, Width, Height int
	Interpolation         Interpolation
}

// Geometry returns the geometry of p. Images prepared for one Preprocess can be
// used for another of equal geometry, see Prepared.For.
func (p Preprocess) Geometry() Geometry {
	return Geometry{p.Resize, p.Width, p.Height, p.Interpolation}
}

// Len returns the number of values of one image.
func (p Preprocess) Len() int { return 3 * p.Width * p.Height }

// CheckView rejects a view that is not possible or does not differ from the
// centre: corners need an image that is larger than the crop.
func (p Preprocess) CheckView(v View) error {
	switch {
	case v.Share < 0 || v.Share > 1 || v.Share != v.Share:
		return fmt.Errorf("view %q is a crop of %v of the shorter side; the share must be in (0, 1]", v.Name, v.Share)
	case v.Share > 0 && p.Resize == 0:
		return fmt.Errorf("view %q is a crop of %v of the shorter side, but images are not resized (resize: 0)", v.Name, v.Share)
	case p.side(v) > maxInputSide:
		return fmt.Errorf("view %q of an image resized to %d: sides must be from 1 to %d", v.Name, p.side(v), maxInputSide)
	case v.Corner != "" && p.side(v) <= min(p.Width, p.Height):
		return fmt.Errorf("view %q of an image resized to %d needs a smaller crop than %d x %d", v.Name, p.side(v), p.Width, p.Height)
	}
	return nil
}

// side returns the shorter side in pixels of the resized image that a view is
// cut from; 0: images must have the model's size.
func (p Preprocess) side(v View) int {
	if v.Share == 0 {
		return p.Resize
	}
	return int(math.Round(min(float64(max(p.Width, p.Height))/v.Share, 2*maxInputSide))) // limited, so that a small share does not overflow
}

// table holds the model's value of every pixel value per channel.
func (p Preprocess) table() *[3][256]float32 {
	var t [3][256]float32
	for c := range 3 {
		for v := range 256 {
			t[c][v] = (float32(v)/255 - p.Mean[c]) / p.Std[c]
		}
	}
	return &t
}
