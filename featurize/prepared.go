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
	width, height := p.preprocess.Width, p.preprocess.Height
	table := p.preprocess.table()
	return p.each(v, func(y int, row []uint8, columns []int) {
		if p.preprocess.Layout == NHWC {
			out := dst[3*y*width:][:3*width]
			for x, at := range columns {
				rgb, to := row[at:at+3], out[3*x:3*x+3]
				to[0], to[1], to[2] = table[0][rgb[0]], table[1][rgb[1]], table[2][rgb[2]]
			}
			return
		}
		plane := width * height
		r, g, b := dst[y*width:][:len(columns)], dst[plane+y*width:][:len(columns)], dst[2*plane+y*width:][:len(columns)]
		for x, at := range columns {
			rgb := row[at : at+3]
			r[x], g[x], b[x] = table[0][rgb[0]], table[1][rgb[1]], table[2][rgb[2]]
		}
	})
}

// Pixels writes the pixels of a view into dst: Height x Width x 3, RGB. The
// view must be one that the image was prepared for.
func (p *Prepared) Pixels(dst []uint8, v View) error {
	return p.each(v, func(y int, row []uint8, columns []int) {
		out := dst[3*y*len(columns):][:3*len(columns)]
		for x, at := range columns {
			copy(out[3*x:3*x+3], row[at:at+3])
		}
	})
}

// each calls set with every row of a view, and where the pixels of its columns
// lie in it.
func (p *Prepared) each(v View, set func(y int, row []uint8, columns []int)) error {
	width, height := p.preprocess.Width, p.preprocess.Height
	crop := p.box
	if p.preprocess.Resize != 0 {
		crop = p.preprocess.crop(p.size, v)
	}
	if !crop.In(p.box) {
		return fmt.Errorf("the image was not prepared for the view %q", v.Name)
	}
	part := pixelsOf(p.part).cut(crop.Sub(p.box.Min))
	columns := make([]int, width)
	for x := range columns {
		columns[x] = 3 * v.column(x, width)
	}
	for y := range height {
		set(y, part.row(v.row(y, height)), columns)
	}
	return nil
}
