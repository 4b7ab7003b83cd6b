package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/pipeline"
)

// imageFlags say what only encoders of images have: their precision, and what happens to images before a model sees them,
// for models whose files do not tell.
type imageFlags struct {
	precision             string
	size, resize          int
	layout, interpolation string
	mean, std             []float32
}

// preprocessNames are the flags about what happens to images.
var preprocessNames = []string{"size", "resize", "interpolation", "layout", "mean", "std"}

func (i *imageFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.precision, "precision", "", "of images: weights and arithmetic in float32, or in float16 for GPUs; else as the file has them, or float32")
	f.IntVar(&i.size, "size", 0, "of images: pixels of a side of what the model sees; with it, the model's own preprocessing does not count")
	f.IntVar(&i.resize, "resize", 0, "pixels of the shorter side before a square of --size is cropped; 0 is --size")
	f.StringVar(&i.interpolation, "interpolation", string(pixel.Bicubic), "of resizing: bicubic or bilinear")
	f.StringVar(&i.layout, "layout", string(pixel.NCHW), "of the model's input: nchw or nhwc")
	f.Float32SliceVar(&i.mean, "mean", []float32{0}, "of values 0 to 1, one or three: (value - mean)/std goes into the model")
	f.Float32SliceVar(&i.std, "std", []float32{1}, "likewise")
}

// set puts what the flags say into options.
func (i *imageFlags) set(c *cobra.Command, o *pipeline.ConvertOptions) (err error) {
	o.Precision = featurize.Precision(i.precision)
	set := slices.IndexFunc(preprocessNames, func(name string) bool { return c.Flag(name).Changed })
	switch {
	case set < 0:
		return nil // as the model says
	case c.Flag("size").Changed && i.size < 1:
		return usage(c, "--size %d: the pixels of a side of what the model sees are one or more", i.size)
	case i.size < 1:
		return usage(c, "--%s needs --size, the pixels of a side of what the model sees", preprocessNames[set])
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
