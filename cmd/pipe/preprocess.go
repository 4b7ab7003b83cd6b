package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipe/featurize"
)

// preprocessFlags say what happens to images before a model sees them, for models whose files do not.
type preprocessFlags struct {
	size, resize          int
	layout, interpolation string
	mean, std             []float32
}

var preprocessNames = []string{"size", "resize", "interpolation", "layout", "mean", "std"}

func (p *preprocessFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&p.size, "size", 0, "of images: pixels of a side of what the model sees; with it, the model's own preprocessing does not count")
	f.IntVar(&p.resize, "resize", 0, "pixels of the shorter side before a square of --size is cropped; 0 is --size")
	f.StringVar(&p.interpolation, "interpolation", string(featurize.Bicubic), "of resizing: bicubic or bilinear")
	f.StringVar(&p.layout, "layout", string(featurize.NCHW), "of the model's input: nchw or nhwc")
	f.Float32SliceVar(&p.mean, "mean", []float32{0}, "of values 0 to 1, one or three: (value - mean)/std goes into the model")
	f.Float32SliceVar(&p.std, "std", []float32{1}, "likewise")
}

// value is what the flags say, nil if none of them is there.
func (p *preprocessFlags) value(c *cobra.Command) (*featurize.Preprocess, error) {
	var set string
	for _, name := range preprocessNames {
		if c.Flag(name).Changed {
			set = name
		}
	}
	switch {
	case set == "":
		return nil, nil
	case p.size < 1:
		return nil, usage(c, "--%s needs --size, the pixels of a side of what the model sees", set)
	}
	if p.resize == 0 {
		p.resize = p.size
	}
	v := featurize.Preprocess{
		Resize: p.resize, Width: p.size, Height: p.size,
		Interpolation: featurize.Interpolation(p.interpolation), Layout: featurize.Layout(p.layout),
	}
	var err error
	if v.Mean, err = channels("mean", p.mean); err == nil {
		v.Std, err = channels("std", p.std)
	}
	if err == nil {
		err = v.Validate()
	}
	if err != nil {
		return nil, usage(c, "%v", err)
	}
	return &v, nil
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
