package pixel

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"pipe/featurize/jpegturbo"
)

// Decoder turns the bytes of an image file into pixels. It is safe for
// concurrent use. Name identifies the code that decodes, with its version:
// decoders of JPEG files differ by some grey levels.
type Decoder interface {
	Name() string
	Decode(b []byte) (*Image, error)
}

type standardDecoder struct{}

// StandardDecoder decodes with Decode: the same bits on every machine.
func StandardDecoder() Decoder { return standardDecoder{} }

func (standardDecoder) Name() string { return "standard (" + runtime.Version() + ")" }

func (standardDecoder) Decode(b []byte) (*Image, error) { return Decode(b) }

// DecoderNames are those that OpenDecoder knows.
var DecoderNames = []string{"standard", "libjpeg-turbo", "auto"}

// OpenDecoder returns the decoder of a name: "standard", which is also "";
// "libjpeg-turbo", the errors of which are jpegturbo.Open's; or "auto", which
// is libjpeg-turbo if it is there. A library that is there and does not load
// is an error in both cases.
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
