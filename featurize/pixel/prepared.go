package pixel

import (
	"fmt"
	"image"
	"math"
)

// Prepared is an image resized for a model; it holds only the parts that its
// views need. It is safe for concurrent use.
type Prepared struct {
	preprocess Preprocess
	scaled     map[int]*scaled // by the shorter side of the whole resized image
}

// scaled is a part of a resized image.
type scaled struct {
	part *Image
	box  image.Rectangle // position of part in the resized image
	size image.Point     // of the whole resized image
}

// Prepare resizes an image for all the views, once for each size that the views
// are cut from. It computes only the smallest box that contains their crops.
// The box lies in the central square of the resized image, however long the
// other side is. If the preprocessing does not resize, the image must have the
// model's size.
func (p Preprocess) Prepare(img *Image, views []View) (*Prepared, error) {
	out := &Prepared{preprocess: p, scaled: make(map[int]*scaled)}
	for _, v := range views {
		if err := p.CheckView(v); err != nil {
			return nil, err
		}
	}
	if p.Resize == 0 {
		if img.Width != p.Width || img.Height != p.Height {
			return nil, fmt.Errorf("the image has %d x %d pixels, but the model takes %d x %d", img.Width, img.Height, p.Width, p.Height)
		}
		size := image.Pt(img.Width, img.Height)
		out.scaled[0] = &scaled{img, image.Rectangle{Max: size}, size}
		return out, nil
	}
	f, err := p.Interpolation.filter()
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		side := p.side(v)
		s := out.scaled[side]
		if s == nil {
			s = &scaled{size: resized(img, side)}
			out.scaled[side] = s
		}
		s.box = s.box.Union(p.crop(s.size, v))
	}
	for _, s := range out.scaled {
		s.part = resize(img, s.size.X, s.size.Y, f, s.box)
	}
	return out, nil
}

// For returns the same resized image for another model with the same geometry;
// only Layout, Mean and Std may differ.
func (p *Prepared) For(q Preprocess) (*Prepared, error) {
	if p.preprocess.Geometry() != q.Geometry() {
		return nil, fmt.Errorf("an image prepared for %+v cannot be used for %+v", p.preprocess.Geometry(), q.Geometry())
	}
	other := *p
	other.preprocess = q
	return &other, nil
}

// resized returns the size of an image after its shorter side is resized to
// side.
func resized(img *Image, side int) image.Point {
	if img.Width <= img.Height {
		return image.Pt(side, int(int64(side)*int64(img.Height)/int64(img.Width)))
	}
	return image.Pt(int(int64(side)*int64(img.Width)/int64(img.Height)), side)
}

// crop returns the rectangle of a view in a resized image, before mirroring and
// shifting.
func (p Preprocess) crop(size image.Point, v View) image.Rectangle {
	at, side := image.Pt(middle(size.X, p.Width), middle(size.Y, p.Height)), p.side(v)
	left, top := middle(size.X, side), middle(size.Y, side)
	right, bottom := left+side-p.Width, top+side-p.Height
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

// middle is the start of a centred crop on one axis. It rounds halves to even,
// like torchvision's CenterCrop.
func middle(size, crop int) int { return int(math.RoundToEven(float64(size-crop) / 2)) }

// Fill writes the model's input for a view into dst: Len values in the model's
// layout. The image must have been prepared for the view.
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
// image must have been prepared for the view.
func (p *Prepared) Pixels(dst []uint8, v View) error {
	return p.each(v, func(y int, row []uint8, columns []int) {
		out := dst[3*y*len(columns):][:3*len(columns)]
		for x, at := range columns {
			copy(out[3*x:3*x+3], row[at:at+3])
		}
	})
}

// each calls set with every row of a view and the positions of the view's
// columns in that row.
func (p *Prepared) each(v View, set func(y int, row []uint8, columns []int)) error {
	width, height := p.preprocess.Width, p.preprocess.Height
	if err := p.preprocess.CheckView(v); err != nil {
		return err
	}
	s := p.scaled[p.preprocess.side(v)]
	if s == nil {
		return fmt.Errorf("the image was not prepared for the view %q", v.Name)
	}
	crop := s.box
	if p.preprocess.Resize != 0 {
		crop = p.preprocess.crop(s.size, v)
	}
	if !crop.In(s.box) {
		return fmt.Errorf("the image was not prepared for the view %q", v.Name)
	}
	part := pixelsOf(s.part).cut(crop.Sub(s.box.Min))
	columns := make([]int, width)
	for x := range columns {
		columns[x] = 3 * v.column(x, width)
	}
	for y := range height {
		set(y, part.row(v.row(y, height)), columns)
	}
	return nil
}
