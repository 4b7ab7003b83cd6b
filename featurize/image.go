package featurize

import (
	"bytes"
	"errors"
	"fmt"
	"image"
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
	src, format, err := image.Decode(bytes.NewReader(withColourModel(b)))
	if err != nil {
		return nil, decodeError(b, err)
	}
	img = &Image{Width: cfg.Width, Height: cfg.Height, Pix: make([]uint8, 3*cfg.Width*cfg.Height)}
	if size := src.Bounds().Size(); size != image.Pt(cfg.Width, cfg.Height) {
		return nil, fmt.Errorf("decode image: %v pixels, its header says %d x %d", size, cfg.Width, cfg.Height)
	}
	img.fill(src, format)
	return img, nil
}

func decodeError(b []byte, err error) error {
	switch {
	case len(b) == 0:
		return errors.New("decode image: the file is empty")
	case errors.Is(err, image.ErrFormat):
		return errors.New("decode image: the content is neither JPEG, PNG, GIF, BMP nor WebP")
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
