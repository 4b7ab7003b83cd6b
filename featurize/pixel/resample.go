package pixel

import (
	"fmt"
	"image"
	"math"
	"slices"
	"sync"
)

// Interpolation is the filter of resizing.
type Interpolation string

// The interpolations. The support of both grows when images shrink.
const (
	Bicubic  Interpolation = "bicubic" // Keys's kernel with a = -0.5
	Bilinear Interpolation = "bilinear"
)

// kernel is an even function that is zero beyond its support.
type kernel struct {
	support float64
	at      func(x float64) float64 // for x >= 0
}

func (i Interpolation) filter() (kernel, error) {
	switch i {
	case Bicubic:
		return kernel{2, bicubic}, nil
	case Bilinear:
		return kernel{1, bilinear}, nil
	}
	return kernel{}, fmt.Errorf("unknown interpolation %q; known are %s, %s", i, Bicubic, Bilinear)
}

// bicubic is Keys's kernel. The conversions prevent compilers from fusing
// operations, so that the weights are the same on every machine.
func bicubic(x float64) float64 {
	const a = -0.5
	switch {
	case x < 1:
		return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
	case x < 2:
		return (float64((float64((x-5)*x)+8)*x) - 4) * a
	}
	return 0
}

func bilinear(x float64) float64 { return max(1-x, 0) }

// precision is the number of fractional bits of a weight. Sums of 8-bit pixels
// then stay below 31 bits.
const precision = 32 - 8 - 2

// taps describes how the pixels from..to of an axis are computed from those of
// the source: pixel i is the sum of weights[i*width+k] * source[first[i]+k].
type taps struct {
	first   []int
	count   []int
	width   int
	weights []int64
}

// newTaps computes the weights of the outputs from..to when size pixels become
// out, like Pillow (libImaging/Resample.c).
func newTaps(f kernel, size, out, from, to int) *taps {
	scale := float64(size) / float64(out)
	shrink := max(scale, 1)
	support := f.support * shrink
	t := &taps{first: make([]int, to-from), count: make([]int, to-from), width: 2*int(math.Ceil(support)) + 1}
	t.weights = make([]int64, (to-from)*t.width)
	exact := make([]float64, t.width)
	for i := range t.first {
		center := float64((float64(from+i) + 0.5) * scale)
		low := max(int(center-support+0.5), 0)
		count := min(int(center+support+0.5), size) - low
		var sum float64
		for k := range count {
			exact[k] = f.at(math.Abs((float64(k+low) - center + 0.5) * (1 / shrink)))
			sum += exact[k]
		}
		for k := range count {
			w := exact[k]
			if sum != 0 {
				w /= sum
			}
			t.weights[i*t.width+k] = int64(math.Copysign(0.5, w) + float64(w*(1<<precision)))
		}
		t.first[i], t.count[i] = low, count
	}
	return t
}

// within adjusts the taps to a source that was cut to the pixels from..to that
// they need.
func (t *taps) within() (from, to int) {
	last := len(t.first) - 1
	from, to = t.first[0], t.first[last]+t.count[last]
	for i := range t.first {
		t.first[i] -= from
	}
	return from, to
}

// resize resizes img to width x height pixels and returns the part box of the
// result, bit for bit like Pillow 13's resize followed by crop: two passes,
// each rounded to 8 bits. It computes nothing outside the box.
func resize(img *Image, width, height int, f kernel, box image.Rectangle) *Image {
	columns := newTaps(f, img.Width, width, box.Min.X, box.Max.X)
	rows := newTaps(f, img.Height, height, box.Min.Y, box.Max.Y)
	var need image.Rectangle
	need.Min.X, need.Max.X = columns.within()
	need.Min.Y, need.Max.Y = rows.within()
	src, dst := pixelsOf(img).cut(need), newPixels(box.Dx(), box.Dy())
	between, _ := betweens.Get().(*[]uint8) // passes overwrite every pixel
	if between == nil {
		between = new([]uint8)
	}
	defer betweens.Put(between)
	if rowsFirst(img, width, height) {
		half := pixelsIn(between, src.width, dst.height)
		rows.down(half, src)
		columns.across(dst, half)
	} else {
		half := pixelsIn(between, dst.width, src.height)
		columns.across(half, src)
		rows.down(dst, half)
	}
	return &Image{Width: dst.width, Height: dst.height, Pix: dst.pix}
}

// betweens keeps the intermediate pixels between two passes for reuse.
var betweens sync.Pool

// pixelsIn returns uninitialised pixels in a buffer, which grows if it is too small.
func pixelsIn(buffer *[]uint8, width, height int) pixels {
	n := 3 * width * height
	*buffer = slices.Grow((*buffer)[:0], n)[:n]
	return pixels{*buffer, width, height, 3 * width}
}

// rowsFirst is Pillow's choice of the first pass, which affects rounding: rows
// come first if more than twice as many of them are dropped.
func rowsFirst(img *Image, width, height int) bool {
	lost := img.Height - height
	return lost > 0 && lost > 2*(img.Width-width)
}

// pixels are the RGB pixels of a part of an image.
type pixels struct {
	pix                   []uint8
	width, height, stride int // stride: distance between rows in values
}

func pixelsOf(m *Image) pixels { return pixels{m.Pix, m.Width, m.Height, 3 * m.Width} }

func newPixels(width, height int) pixels {
	return pixels{make([]uint8, 3*width*height), width, height, 3 * width}
}

func (p pixels) cut(r image.Rectangle) pixels {
	end := (r.Max.Y-1)*p.stride + 3*r.Max.X
	return pixels{p.pix[r.Min.Y*p.stride+3*r.Min.X : end], r.Dx(), r.Dy(), p.stride}
}

func (p pixels) row(y int) []uint8 { return p.pix[y*p.stride:][:3*p.width] }
