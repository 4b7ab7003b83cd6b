package pixel

import (
	"bytes"
	"fmt"
	"image"

	"pipe/featurize/jpegturbo"
)

// turboDecoder decodes JPEG files with libjpeg-turbo, and other files like the
// standard decoder.
type turboDecoder struct{ library *jpegturbo.Library }

func (d turboDecoder) Name() string { return d.library.Name() + ", else " + StandardDecoder().Name() }

func (d turboDecoder) Decode(b []byte) (*Image, error) {
	if !bytes.HasPrefix(b, []byte{0xff, 0xd8}) {
		return Decode(b)
	}
	p, err := d.library.Decode(b, maxPixels)
	if err != nil {
		return nil, fmt.Errorf("decode image: %w", err)
	}
	if !p.Inks {
		return &Image{Width: p.Width, Height: p.Height, Pix: p.Pix}, nil
	}
	for i, v := range p.Pix {
		p.Pix[i] = 255 - v // files store inverted CMYK
	}
	m := &Image{Width: p.Width, Height: p.Height, Pix: make([]uint8, 3*p.Width*p.Height)}
	m.fillCMYK(&image.CMYK{Pix: p.Pix, Stride: 4 * p.Width})
	return m, nil
}
