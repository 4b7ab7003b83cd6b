package featurize

import (
	"errors"
	"fmt"
	"runtime"
)

// Decoder turns the bytes of an image file into pixels. It is safe for
// concurrent use. Name identifies the code that decodes, with its version:
// decoders of JPEG files differ by some grey levels.
type Decoder interface {
	Name() string
	Decode(b []byte) (*Image, error)
}

type standardDecoder struct{}

// StandardDecoder decodes with DecodeImage: the same bits on every machine.
func StandardDecoder() Decoder { return standardDecoder{} }

func (standardDecoder) Name() string { return "standard (" + runtime.Version() + ")" }

func (standardDecoder) Decode(b []byte) (*Image, error) { return DecodeImage(b) }

// OpenDecoder returns the decoder of a name: "standard", which is also "",
// "libjpeg-turbo", or "auto": libjpeg-turbo if it is there.
func OpenDecoder(name string) (Decoder, error) {
	switch name {
	case "", "standard":
		return StandardDecoder(), nil
	case "libjpeg-turbo":
		return nil, errors.New("libjpeg-turbo is not supported yet")
	case "auto":
		return StandardDecoder(), nil
	}
	return nil, fmt.Errorf("unknown decoder %q; known are standard, libjpeg-turbo, auto", name)
}
