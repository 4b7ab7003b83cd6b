package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/pipeline/convert"
)

// imageFlags are the flags of image encoders: precision, and the preprocessing of images for models whose files do not
// specify it.
type imageFlags struct {
	precision             string
	size, resize          int
	layout, interpolation string
	mean, std             []float32
}

// preprocessNames are the flags of preprocessing.
var preprocessNames = []string{"size", "resize", "interpolation", "layout", "mean", "std"}

func (i *imageFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.precision, "precision", "", "image: float32, or float16 for GPUs (default: as in the file, or float32)")
	f.IntVar(&i.size, "size", 0, "image: side of the model's input in pixels; replaces the model's own preprocessing")
	f.IntVar(&i.resize, "resize", 0, "image: shorter side in pixels before a square of --size is cropped; 0: --size")
	f.StringVar(&i.interpolation, "interpolation", string(pixel.Bicubic), "image: resizing by bicubic or bilinear interpolation")
	f.StringVar(&i.layout, "layout", string(pixel.NCHW), "image: layout of the model's input, nchw or nhwc")
	f.Float32SliceVar(&i.mean, "mean", []float32{0}, "image: one or three values; the model's input is (value - mean)/std, value from 0 to 1")
	f.Float32SliceVar(&i.std, "std", []float32{1}, "image: one or three values, see --mean")
}

// set copies the flags into options.
func (i *imageFlags) set(c *cobra.Command, o *convert.Options) (err error) {
	o.Precision = featurize.Precision(i.precision)
	set := slices.IndexFunc(preprocessNames, func(name string) bool { return c.Flag(name).Changed })
	switch {
	case set < 0:
		return nil // the model's own
	case c.Flag("size").Changed && i.size < 1:
		return usage(c, "--size %d: the side of the model's input is one pixel or more", i.size)
	case i.size < 1:
		return usage(c, "--%s needs --size, the side of the model's input in pixels", preprocessNames[set])
	}
	o.Preprocess, err = i.preprocess()
	if err != nil {
		return usage(c, "%v", err)
	}
	return nil
}

func (i *imageFlags) preprocess() (*pixel.Preprocess, error) {
	p := &pixel.Preprocess{
		Resize: i.resize, Width: i.size, Height: i.size,
		Interpolation: pixel.Interpolation(i.interpolation), Layout: pixel.Layout(i.layout),
	}
	if p.Resize == 0 {
		p.Resize = i.size
	}
	var err error
	if p.Mean, err = channels("mean", i.mean); err != nil {
		return nil, err
	}
	if p.Std, err = channels("std", i.std); err != nil {
		return nil, err
	}
	return p, p.Validate()
}

// channels are the values of red, green and blue.
func channels(name string, values []float32) ([3]float32, error) {
	switch len(values) {
	case 1:
		return [3]float32{values[0], values[0], values[0]}, nil
	case 3:
		return [3]float32(values), nil
	}
	return [3]float32{}, fmt.Errorf("--%s has %d values; one or three are needed", name, len(values))
}
