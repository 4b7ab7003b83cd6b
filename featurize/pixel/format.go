package pixel

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// imageFormat is a supported format. Formats that other packages of a program
// register with package image are not used, since their memory would not be
// limited.
type imageFormat struct {
	name    string
	magic   string // start of a file; ? is any byte
	config  func(file []byte) (image.Config, error)
	decode  func(io.Reader) (image.Image, error)
	palette func(file []byte, decoded color.Palette) (palette, error) // nil if the format has none
}

var imageFormats = []imageFormat{
	{"jpeg", "\xff\xd8", header(jpeg.DecodeConfig), jpeg.Decode, nil}, // baseline and progressive
	{"png", "\x89PNG\r\n\x1a\n", header(png.DecodeConfig), png.Decode, pngPalette},
	{"gif", "GIF8?a", header(gif.DecodeConfig), gif.Decode, gifPalette},                     // first frame
	{"bmp", "BM????\x00\x00\x00\x00", header(bmp.DecodeConfig), bmp.Decode, decodedPalette}, // uncompressed
	{"webp", "RIFF????WEBPVP8", webpFrame, webp.Decode, nil},                                // not animated
}

// header reads what a decoder finds in the header of a file.
func header(decode func(io.Reader) (image.Config, error)) func([]byte) (image.Config, error) {
	return func(file []byte) (image.Config, error) { return decode(bytes.NewReader(file)) }
}

// formatOf finds the format from the content; without a match the error is
// image.ErrFormat.
func formatOf(b []byte) (imageFormat, error) {
	for _, f := range imageFormats {
		if f.starts(b) {
			return f, nil
		}
	}
	return imageFormat{}, image.ErrFormat
}

func (f imageFormat) starts(b []byte) bool {
	if len(b) < len(f.magic) {
		return false
	}
	for i, c := range []byte(f.magic) {
		if c != '?' && c != b[i] {
			return false
		}
	}
	return true
}

// foreign describes content that is often saved with the name of an image.
func foreign(b []byte) string {
	head := bytes.ToLower(bytes.TrimLeft(b[:min(len(b), 512)], " \t\r\n\ufeff"))
	if bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) {
		return ": it is a web page"
	}
	return ""
}
