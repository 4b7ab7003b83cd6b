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

// Extensions are the file name extensions, in lower case, of the formats of
// Decode.
var Extensions = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// Image is a decoded image: 8 bits per channel, RGB, rows from the top.
type Image struct {
	Width, Height int
	Pix           []uint8 // Height x Width x 3
}

// row is the bytes of a row of pixels.
func (m *Image) row(y int) []uint8 { return m.Pix[3*m.Width*y:][:3*m.Width] }

// Pool writes the mean colour of each cell of a grid x grid partition into
// dst: grid x grid x 3 values in 0..1, cells by row, channels innermost. Cell i
// of an axis of n pixels covers the pixels from i*n/grid to (i+1)*n/grid.
func Pool(dst []float32, img *Image, grid int) error {
	if grid <= 0 || img.Width < grid || img.Height < grid {
		return fmt.Errorf("pool image: %d x %d pixels are too few for a grid of %d x %d", img.Width, img.Height, grid, grid)
	}
	for gy := range grid {
		for gx := range grid {
			poolCell(dst[3*(gy*grid+gx):], img,
				gx*img.Width/grid, (gx+1)*img.Width/grid, gy*img.Height/grid, (gy+1)*img.Height/grid)
		}
	}
	return nil
}

func poolCell(dst []float32, img *Image, x0, x1, y0, y1 int) {
	var sum [3]uint64 // integers, so that the mean does not depend on the order
	for y := y0; y < y1; y++ {
		p := img.Pix[3*(y*img.Width+x0) : 3*(y*img.Width+x1)]
		for i := 0; i < len(p); i += 3 {
			sum[0] += uint64(p[i])
			sum[1] += uint64(p[i+1])
			sum[2] += uint64(p[i+2])
		}
	}
	n := float64((x1-x0)*(y1-y0)) * 255
	for c := range 3 {
		dst[c] = float32(float64(sum[c]) / n)
	}
}
