package pixel

import (
	"bytes"
	"image"
	"image/jpeg"

	"golang.org/x/image/draw"
)

// thumbnailQuality is that of the JPEG encoder, of 100.
const thumbnailQuality = 80

// Thumbnail is an image as JPEG, made smaller where its longer side exceeds side
// pixels.
func Thumbnail(img *Image, side int) ([]byte, error) {
	src := image.NewRGBA(image.Rect(0, 0, img.Width, img.Height))
	for i := range img.Width * img.Height {
		copy(src.Pix[4*i:4*i+3], img.Pix[3*i:])
		src.Pix[4*i+3] = 255
	}
	w, h := fitted(img.Width, img.Height, side)
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(small, small.Bounds(), src, src.Bounds(), draw.Src, nil)
	var b bytes.Buffer
	err := jpeg.Encode(&b, small, &jpeg.Options{Quality: thumbnailQuality})
	return b.Bytes(), err
}

// fitted is a size with the shape of w x h and no side longer than most.
func fitted(w, h, most int) (int, int) {
	long := max(w, h)
	if long <= most {
		return w, h
	}
	return max(1, (w*most+long/2)/long), max(1, (h*most+long/2)/long)
}
