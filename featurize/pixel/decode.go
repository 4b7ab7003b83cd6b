package pixel

import (
	"bytes"
	"fmt"
	"image"

	"pipe/internal/outside"
)

// Decode decodes the bytes of one image by its content, whatever its name.
// Transparency is dropped without blending, 16-bit channels keep their high
// byte, greyscale and CMYK become RGB, and orientation tags are ignored. Images
// of more than 100 million pixels, and JPEG files of more than 500 scans, are
// rejected before they are decoded. A panic of a format's decoder becomes an
// error.
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
		return nil, fmt.Errorf("%d x %d pixels; 1 to %d pixels in all are supported", width, height, maxPixels)
	}
	if n := jpegScans(b); n > maxScans {
		return nil, fmt.Errorf("%d scans; at most %d are supported", n, maxScans)
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
		return nil, fmt.Errorf("the frame has %d x %d pixels, the image %d x %d", size.X, size.Y, width, height)
	}
	img := &Image{Width: width, Height: height, Pix: make([]uint8, 3*width*height)}
	if err := img.fill(src, format, b); err != nil {
		return nil, err
	}
	return img, nil
}
