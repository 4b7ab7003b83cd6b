package pixel

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"runtime"
	"strings"

	"pipe/featurize/jpegturbo"
)

// Decoder turns the bytes of an image file into pixels. It is safe for
// concurrent use. Name identifies the decoder and its version, since decoders
// of JPEG files differ by some grey levels.
type Decoder interface {
	Name() string
	Decode(b []byte) (*Image, error)
}

type standardDecoder struct{}

// StandardDecoder decodes with Decode. It gives the same pixels on every
// machine.
func StandardDecoder() Decoder { return standardDecoder{} }

func (standardDecoder) Name() string { return "standard (" + runtime.Version() + ")" }

func (standardDecoder) Decode(b []byte) (*Image, error) { return Decode(b) }

// DecoderNames are the names that OpenDecoder accepts.
var DecoderNames = []string{"standard", "libjpeg-turbo", "auto"}

// OpenDecoder returns the decoder of a name: "standard" (also "");
// "libjpeg-turbo", with the errors of jpegturbo.Open; or "auto", which is
// libjpeg-turbo if the library is found, else the standard decoder. A library
// that is found but does not load is an error in both cases.
func OpenDecoder(name string) (Decoder, error) {
	switch name {
	case "", "standard":
		return StandardDecoder(), nil
	case "libjpeg-turbo", "auto":
		library, err := jpegturbo.Open("")
		var missing *jpegturbo.MissingLibraryError
		if name == "auto" && errors.As(err, &missing) {
			return StandardDecoder(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("open decoder %q: %w", name, err)
		}
		return turboDecoder{library}, nil
	}
	return nil, fmt.Errorf("unknown decoder %q; known are %s", name, strings.Join(DecoderNames, ", "))
}

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
