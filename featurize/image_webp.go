package featurize

import (
	"bytes"
	"image"
	"io"

	"golang.org/x/image/riff"
	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

// isAnimatedWebP goes by the flags of the canvas, with which such a file starts.
func isAnimatedWebP(b []byte) bool {
	const flags, animation = 20, 2
	return len(b) > flags && bytes.HasPrefix(b, []byte("RIFF")) && string(b[8:16]) == "WEBPVP8X" && b[flags]&animation != 0
}

// webpFrame is the size of the frame of a WebP file, which is what its decoder
// makes room for. That of the canvas, which a file may state in front of it, can
// be another one.
func webpFrame(b []byte) (image.Config, error) {
	_, chunks, err := riff.NewReader(bytes.NewReader(b))
	if err != nil {
		return image.Config{}, err
	}
	for {
		id, size, data, err := chunks.Next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return image.Config{}, err
		}
		switch id {
		case riff.FourCC{'V', 'P', '8', ' '}:
			d := vp8.NewDecoder()
			d.Init(data, int(size))
			h, err := d.DecodeFrameHeader()
			return image.Config{Width: h.Width, Height: h.Height}, err
		case riff.FourCC{'V', 'P', '8', 'L'}:
			return vp8l.DecodeConfig(data)
		}
	}
}
