package pixel

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"

	"pipe/internal/outside"
)

// Extensions are the file name endings, lower case, that Decode is meant for.
var Extensions = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// Image is a decoded picture: 8 bits per channel, RGB, rows from the top.
type Image struct {
	Width, Height int
	Pix           []uint8 // Height x Width x 3
}

// Decode decodes the bytes of one picture by its content, whatever its
// name. Transparency is dropped without blending, 16-bit channels keep their
// high byte, greyscale and CMYK become RGB, and orientation tags are ignored.
// Images of more than 100 million pixels, and JPEG files of more than 500 scans,
// are refused before they are decoded. A panic of a format's decoder is an error.
func Decode(b []byte) (*Image, error) {
	m, err := outside.Read(func() (*Image, error) { return decodeImage(b) })
	return m, decodeError(b, err)
}

func decodeImage(b []byte) (*Image, error) {
	width, height, err := sizeOf(b)
	if err != nil {
		return nil, err
	}
	if width > maxPixels/height {
		return nil, fmt.Errorf("%d x %d pixels, supported are 1 to %d in all", width, height, maxPixels)
	}
	if n := jpegScans(b); n > maxScans {
		return nil, fmt.Errorf("%d scans, supported are %d", n, maxScans)
	}
	if err := checkJPEGTables(b); err != nil {
		return nil, err
	}
	format, err := formatOf(b)
	if err != nil {
		return nil, err
	}
	src, err := format.decode(bytes.NewReader(withColourModel(b)))
	if err != nil {
		return nil, err
	}
	if size := src.Bounds().Size(); size != image.Pt(width, height) {
		return nil, fmt.Errorf("a frame of %d x %d pixels in an image of %d x %d", size.X, size.Y, width, height)
	}
	img := &Image{Width: width, Height: height, Pix: make([]uint8, 3*width*height)}
	if err := img.fill(src, format, b); err != nil {
		return nil, err
	}
	return img, nil
}

// decodeError says what is wrong with the file of an image; nil stays nil.
func decodeError(b []byte, err error) error {
	switch {
	case err == nil:
		return nil
	case len(b) == 0:
		return errors.New("decode image: the file is empty")
	case errors.Is(err, image.ErrFormat):
		return errors.New("decode image: the content is neither JPEG, PNG, GIF, BMP nor WebP" + foreign(b))
	case isAnimatedWebP(b):
		return errors.New("decode image: an animated WebP; supported are those of one frame")
	case endedEarly(err):
		return fmt.Errorf("decode image: the file is truncated (%w)", err)
	}
	return fmt.Errorf("decode image: %w", err)
}

// endedEarly knows the words that the decoders have for missing data.
func endedEarly(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	words := []string{"unexpected EOF", "short Huffman data", "not enough pixel data", "not enough image data", "short chunk"}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) })
}
