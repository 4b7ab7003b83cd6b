package featurize

import "fmt"

// Layout is the order of the axes of an image in a model's input.
type Layout string

// The layouts, both with a leading batch axis.
const (
	NCHW Layout = "nchw" // channels first
	NHWC Layout = "nhwc" // channels last
)

// ImageInput is how a model wants its pixels: float32 RGB, (v/255 - Mean)/Std
// per channel for a pixel value v in 0..255, in a fixed size.
type ImageInput struct {
	Layout        Layout
	Width, Height int
	Mean, Std     [3]float32
}

// Validate reports a layout, size or deviation that cannot be used.
func (in ImageInput) Validate() error {
	if in.Layout != NCHW && in.Layout != NHWC {
		return fmt.Errorf("unknown layout %q; known are %s, %s", in.Layout, NCHW, NHWC)
	}
	if in.Width <= 0 || in.Height <= 0 {
		return fmt.Errorf("input is %d x %d pixels", in.Width, in.Height)
	}
	for c := range 3 {
		if s := in.Std[c]; !(s > 0) || s-s != 0 || in.Mean[c]-in.Mean[c] != 0 {
			return fmt.Errorf("channel %d has mean %v and deviation %v", c, in.Mean[c], s)
		}
	}
	return nil
}

// Len returns the number of values of one image.
func (in ImageInput) Len() int { return 3 * in.Width * in.Height }

// Fill writes one view of an image into dst, which holds Len values. An image
// of another size is an error: this package does not resize.
func (in ImageInput) Fill(dst []float32, img *Image, view View) error {
	if img.Width != in.Width || img.Height != in.Height {
		return fmt.Errorf("image is %d x %d pixels, the model takes %d x %d", img.Width, img.Height, in.Width, in.Height)
	}
	scaled := in.table()
	plane, pixel := in.Width*in.Height, 1
	if in.Layout == NHWC {
		plane, pixel = 1, 3
	}
	i := 0
	for y := range in.Height {
		row := img.Pix[3*view.row(y, in.Height)*in.Width:]
		for x := range in.Width {
			p := row[3*view.column(x, in.Width):]
			for c := range 3 {
				dst[i+c*plane] = scaled[c][p[c]]
			}
			i += pixel
		}
	}
	return nil
}

// table holds the normalised value of every pixel value per channel.
func (in ImageInput) table() *[3][256]float32 {
	var t [3][256]float32
	for c := range 3 {
		for v := range 256 {
			t[c][v] = (float32(v)/255 - in.Mean[c]) / in.Std[c]
		}
	}
	return &t
}
