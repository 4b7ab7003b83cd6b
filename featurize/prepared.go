package featurize

import (
	"fmt"
	"image"
	"math"
)

// Prepared is an image that was resized for a model: as much of it as some
// views show. It is safe for concurrent use.
type Prepared struct {
	preprocess Preprocess
	part       *Image          // what the views show
	box        image.Rectangle // where part lies in the resized image
	size       image.Point     // of the whole resized image
}

// Prepare resizes an image once for all the views: the smallest box that holds
// their crops, which lies in the central square of the resized image however
// long the other side is. An image that is not to be resized must have the
// model's size.
func (p Preprocess) Prepare(img *Image, views []View) (*Prepared, error) {
	out := &Prepared{preprocess: p, part: img, size: image.Pt(img.Width, img.Height)}
	for _, v := range views {
		if err := p.CheckView(v); err != nil {
			return nil, err
		}
	}
	if p.Resize == 0 {
		if img.Width != p.Width || img.Height != p.Height {
			return nil, fmt.Errorf("image is %d x %d pixels, the model takes %d x %d", img.Width, img.Height, p.Width, p.Height)
		}
		out.box = image.Rectangle{Max: out.size}
		return out, nil
	}
	f, err := p.Interpolation.filter()
	if err != nil {
		return nil, err
	}
	out.size = p.resized(img.Width, img.Height)
	for _, v := range views {
		out.box = out.box.Union(p.crop(out.size, v))
	}
	if !out.box.Empty() {
		out.part = resize(img, out.size.X, out.size.Y, f, out.box)
	}
	return out, nil
}

// For returns the same resized image for a model of the same geometry: only
// Layout, Mean and Std may differ from what it was prepared with.
func (p *Prepared) For(q Preprocess) (*Prepared, error) {
	if p.preprocess.Geometry() != q.Geometry() {
		return nil, fmt.Errorf("an image prepared for %+v does not do for %+v", p.preprocess.Geometry(), q.Geometry())
	}
	other := *p
	other.preprocess = q
	return &other, nil
}

// resized returns the size of an image whose shorter side becomes Resize.
func (p Preprocess) resized(width, height int) image.Point {
	if width <= height {
		return image.Pt(p.Resize, int(int64(p.Resize)*int64(height)/int64(width)))
	}
	return image.Pt(int(int64(p.Resize)*int64(width)/int64(height)), p.Resize)
}

// crop returns what a view shows of a resized image, before mirroring and
// shifting.
func (p Preprocess) crop(size image.Point, v View) image.Rectangle {
	at := image.Pt(middle(size.X, p.Width), middle(size.Y, p.Height))
	left, top := middle(size.X, p.Resize), middle(size.Y, p.Resize)
	right, bottom := left+p.Resize-p.Width, top+p.Resize-p.Height
	switch v.Corner {
	case TopLeft:
		at = image.Pt(left, top)
	case TopRight:
		at = image.Pt(right, top)
	case BottomLeft:
		at = image.Pt(left, bottom)
	case BottomRight:
		at = image.Pt(right, bottom)
	}
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(p.Width, p.Height))}
}

// middle is where a crop of an axis starts: the middle, halves to even, as
// torchvision's CenterCrop rounds.
func middle(size, crop int) int { return int(math.RoundToEven(float64(size-crop) / 2)) }

// Fill writes what the model sees of a view into dst: Len values in the
// model's layout. The view must be one that the image was prepared for.
func (p *Prepared) Fill(dst []float32, v View) error {
	plane, pixel := p.preprocess.Width*p.preprocess.Height, 1
	if p.preprocess.Layout == NHWC {
		plane, pixel = 1, 3
	}
	dst, table := dst[:p.preprocess.Len()], p.preprocess.table()
	return p.each(v, func(i int, rgb []uint8) {
		i *= pixel
		for c, value := range rgb {
			dst[i+c*plane] = table[c][value]
		}
	})
}

// Pixels writes the pixels of a view into dst: Height x Width x 3, RGB. The
// view must be one that the image was prepared for.
func (p *Prepared) Pixels(dst []uint8, v View) error {
	return p.each(v, func(i int, rgb []uint8) { copy(dst[3*i:3*i+3], rgb) })
}

// each calls set with every pixel of a view, row by row.
func (p *Prepared) each(v View, set func(i int, rgb []uint8)) error {
	width, height := p.preprocess.Width, p.preprocess.Height
	crop := p.box
	if p.preprocess.Resize != 0 {
		crop = p.preprocess.crop(p.size, v)
	}
	if !crop.In(p.box) {
		return fmt.Errorf("the image was not prepared for the view %q", v.Name)
	}
	crop = crop.Sub(p.box.Min)
	for y := range height {
		row := p.part.Pix[3*((crop.Min.Y+v.row(y, height))*p.part.Width+crop.Min.X):]
		for x := range width {
			at := 3 * v.column(x, width)
			set(y*width+x, row[at:at+3])
		}
	}
	return nil
}
