package pixel

import (
	"image"
	"image/color"
)

// fill copies a decoded image of the same size, with the additional data of its
// file, into RGB. The common types have separate loops, since the general loop
// needs an interface call per pixel.
func (m *Image) fill(src image.Image, format imageFormat, file []byte) error {
	switch s := src.(type) {
	case *image.NYCbCrA: // WebP with transparency
		m.fillVP8(&s.YCbCr)
	case *image.YCbCr:
		if format.name == "webp" {
			m.fillVP8(s)
		} else {
			m.fillYCbCr(s)
		}
	case *image.NRGBA:
		m.fillRGBA(s.Pix, s.Stride)
	case *image.NRGBA64:
		m.fillNRGBA64(s)
	case *image.Gray:
		m.fillGray(s)
	case *image.CMYK:
		m.fillCMYK(s)
	case *image.Paletted:
		colours, err := format.palette(file, s.Palette)
		if err != nil {
			return err
		}
		return m.fillPaletted(s, colours)
	case *image.RGBA:
		if s.Opaque() {
			m.fillRGBA(s.Pix, s.Stride)
			return nil
		}
		m.fillAny(s)
	default:
		m.fillAny(s)
	}
	return nil
}

func (m *Image) fillAny(s image.Image) {
	least := s.Bounds().Min
	for y := range m.Height {
		row := m.row(y)
		for x := range m.Width {
			c := color.NRGBAModel.Convert(s.At(least.X+x, least.Y+y)).(color.NRGBA)
			row[3*x], row[3*x+1], row[3*x+2] = c.R, c.G, c.B
		}
	}
}

func (m *Image) fillRGBA(pix []uint8, stride int) {
	for y := range m.Height {
		row, from := m.row(y), pix[y*stride:][:4*m.Width]
		for x := range m.Width {
			copy(row[3*x:3*x+3], from[4*x:4*x+3])
		}
	}
}

// fillNRGBA64 keeps the colours of transparent pixels, which conversions by
// premultiplied colours lose.
func (m *Image) fillNRGBA64(s *image.NRGBA64) {
	for y := range m.Height {
		row, from := m.row(y), s.Pix[y*s.Stride:][:8*m.Width]
		for x := range m.Width {
			row[3*x], row[3*x+1], row[3*x+2] = from[8*x], from[8*x+2], from[8*x+4]
		}
	}
}

func (m *Image) fillGray(s *image.Gray) {
	for y := range m.Height {
		row := m.row(y)
		for x, v := range s.Pix[y*s.Stride:][:m.Width] {
			row[3*x], row[3*x+1], row[3*x+2] = v, v, v
		}
	}
}

// fillCMYK adds black like Pillow: with w = 255 - K, a channel of ink c becomes
// w - c*w/255, rounded.
func (m *Image) fillCMYK(s *image.CMYK) {
	for y := range m.Height {
		row, from := m.row(y), s.Pix[y*s.Stride:][:4*m.Width]
		for x := range m.Width {
			ink := from[4*x : 4*x+4]
			w := 255 - uint32(ink[3])
			for c := range 3 {
				p := uint32(ink[c])*w + 128
				row[3*x+c] = uint8(w - (p>>8+p)>>8)
			}
		}
	}
}
