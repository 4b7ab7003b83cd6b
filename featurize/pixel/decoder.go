package pixel

import (
	"errors"
	"fmt"
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
