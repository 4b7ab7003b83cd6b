package pixel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"

	"golang.org/x/image/riff"
	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

// isAnimatedWebP reads the flags of the canvas, with which an animated file
// starts.
func isAnimatedWebP(b []byte) bool {
	const flags, animation = 20, 2
	return len(b) > flags && bytes.HasPrefix(b, []byte("RIFF")) && string(b[8:16]) == "WEBPVP8X" && b[flags]&animation != 0
}

// webpFrame is the size of the frame of a WebP file. The decoder allocates what
// the file declares: the bytes of a chunk, and transparency of the size of a
// canvas, which may precede the frame. So the file must be as long as it
// declares, and the canvas as large as the frame; libwebp requires this too.
func webpFrame(b []byte) (image.Config, error) {
	if len(b) < 8 || int64(binary.LittleEndian.Uint32(b[4:])) > int64(len(b)-8) {
		return image.Config{}, io.ErrUnexpectedEOF
	}
	_, chunks, err := riff.NewReader(bytes.NewReader(b))
	if err != nil {
		return image.Config{}, err
	}
	var canvas *image.Point
	for {
		id, size, data, err := chunks.Next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return image.Config{}, err
		}
		switch id {
		case riff.FourCC{'V', 'P', '8', 'X'}:
			if canvas, err = webpCanvas(data); err != nil {
				return image.Config{}, err
			}
		case riff.FourCC{'V', 'P', '8', ' '}:
			d := vp8.NewDecoder()
			d.Init(data, int(size))
			h, err := d.DecodeFrameHeader()
			if err == nil && !h.ShowFrame {
				err = errors.New("webp: the frame is hidden")
			}
			return onCanvas(canvas, image.Config{Width: h.Width, Height: h.Height}, err)
		case riff.FourCC{'V', 'P', '8', 'L'}:
			frame, err := vp8l.DecodeConfig(data)
			return onCanvas(canvas, frame, err)
		}
	}
}

// webpCanvas reads the size of a canvas: two numbers of 24 bits, each less one.
func webpCanvas(chunk io.Reader) (*image.Point, error) {
	var b [10]byte
	if _, err := io.ReadFull(chunk, b[:]); err != nil {
		return nil, err
	}
	number := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
	return &image.Point{X: number(b[4:]), Y: number(b[7:])}, nil
}

// onCanvas returns a frame, which must be as large as its canvas; nil means no
// canvas.
func onCanvas(canvas *image.Point, frame image.Config, err error) (image.Config, error) {
	if err == nil && canvas != nil && *canvas != image.Pt(frame.Width, frame.Height) {
		return image.Config{}, fmt.Errorf("the frame has %d x %d pixels, the canvas %d x %d", frame.Width, frame.Height, canvas.X, canvas.Y)
	}
	return frame, err
}
