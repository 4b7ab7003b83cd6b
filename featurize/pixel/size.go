package pixel

import (
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"

	"pipe/internal/outside"
)

// Limits of every image, whatever Limits say.
const (
	maxPixels = 100_000_000 // width x height
	maxBytes  = 1 << 30     // of the file; enough for uncompressed pixels
)

// Size reads width and height in pixels from the header of a file.
func Size(b []byte) (width, height int, err error) {
	err = outside.Check(func() (err error) {
		width, height, err = sizeOf(b)
		return err
	})
	return width, height, decodeError(b, err)
}

func sizeOf(b []byte) (width, height int, err error) {
	f, err := formatOf(b)
	if err != nil {
		return 0, 0, err
	}
	cfg, err := f.config(b)
	switch {
	case err != nil:
		return 0, 0, err
	case cfg.Width <= 0 || cfg.Height <= 0:
		return 0, 0, errors.New("it has no pixels")
	}
	return cfg.Width, cfg.Height, nil
}

// decodeError describes the problem with the file of an image; nil stays nil.
func decodeError(b []byte, err error) error {
	switch {
	case err == nil:
		return nil
	case len(b) == 0:
		return errors.New("decode image: the file is empty")
	case errors.Is(err, image.ErrFormat):
		return errors.New("decode image: the content is neither JPEG, PNG, GIF, BMP nor WebP" + foreign(b))
	case isAnimatedWebP(b):
		return errors.New("decode image: an animated WebP is not supported")
	case endedEarly(err):
		return fmt.Errorf("decode image: the file is truncated (%w)", err)
	}
	return fmt.Errorf("decode image: %w", err)
}

// endedEarly recognises the decoders' messages for missing data.
func endedEarly(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	words := []string{"unexpected EOF", "short Huffman data", "not enough pixel data", "not enough image data", "short chunk"}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) })
}
