package featurize

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // first frame
	_ "image/jpeg" // baseline and progressive
	_ "image/png"
	"io"
	"strings"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
)

// Extensions are the file name endings, lower case, that DecodeImage is meant for.
var Extensions = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// Image is a decoded picture: 8 bits per channel, RGB, rows from the top.
type Image struct {
	Width, Height int
	Pix           []uint8 // Height x Width x 3
}

// DecodeImage decodes the bytes of one picture by its content, whatever its
// name. Transparency is dropped without blending, 16-bit channels keep their
// high byte, greyscale and CMYK become RGB, and orientation tags are ignored.
// Images of more than 100 million pixels are refused before they are decoded.
func DecodeImage(b []byte) (img *Image, err error) {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, decodeError(b, err)
	}
	if cfg.Width <= 0 || cfg.Height <= 0 || cfg.Width > maxPixels/cfg.Height {
		return nil, fmt.Errorf("decode image: %d x %d pixels, supported are 1 to %d in all", cfg.Width, cfg.Height, maxPixels)
	}
	src, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, decodeError(b, err)
	}
	return fromImage(src), nil
}

func decodeError(b []byte, err error) error {
	switch {
	case len(b) == 0:
		return errors.New("decode image: the file is empty")
	case errors.Is(err, image.ErrFormat):
		return fmt.Errorf("decode image: not one of %s", strings.Join(Extensions, " "))
	case errors.Is(err, io.ErrUnexpectedEOF), endedEarly(err):
		return fmt.Errorf("decode image: the file is truncated (%w)", err)
	}
	return fmt.Errorf("decode image: %w", err)
}

// endedEarly knows the decoders that have their own words for missing data.
func endedEarly(err error) bool {
	msg := err.Error()
	return strings.Contains(msg, "short Huffman data") || strings.Contains(msg, "not enough pixel data")
}

// fromImage copies any decoded picture into RGB. The common types have a loop
// of their own, since the general one pays an interface call per pixel.
func fromImage(src image.Image) *Image {
	r := src.Bounds()
	img := &Image{Width: r.Dx(), Height: r.Dy(), Pix: make([]uint8, 3*r.Dx()*r.Dy())}
	switch s := src.(type) {
	case *image.YCbCr:
		img.fill(r, func(x, y int) (uint8, uint8, uint8) {
			i, c := s.YOffset(x, y), s.COffset(x, y)
			return color.YCbCrToRGB(s.Y[i], s.Cb[c], s.Cr[c])
		})
	case *image.NRGBA:
		img.fill(r, func(x, y int) (uint8, uint8, uint8) {
			p := s.Pix[s.PixOffset(x, y):]
			return p[0], p[1], p[2]
		})
	case *image.Gray:
		img.fill(r, func(x, y int) (uint8, uint8, uint8) {
			v := s.Pix[s.PixOffset(x, y)]
			return v, v, v
		})
	default:
		img.fill(r, func(x, y int) (uint8, uint8, uint8) {
			c := color.NRGBAModel.Convert(s.At(x, y)).(color.NRGBA)
			return c.R, c.G, c.B
		})
	}
	return img
}

func (m *Image) fill(r image.Rectangle, at func(x, y int) (r, g, b uint8)) {
	i := 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			m.Pix[i], m.Pix[i+1], m.Pix[i+2] = at(x, y)
			i += 3
		}
	}
}
