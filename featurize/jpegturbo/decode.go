package jpegturbo

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// ErrTruncated is in the errors of files that end early.
var ErrTruncated = errors.New("the file is truncated")

// Pixels are the pixels of a decoded file, rows from the top.
type Pixels struct {
	Width, Height int
	Inks          bool    // Pix has CMYK as stored in the file, else RGB
	Pix           []uint8 // Height x Width x (4 if Inks, else 3)
}

// Decode decodes a JPEG file; greyscale becomes RGB. A file whose header
// declares more than maxPixels is rejected. A truncated file is an error. Other
// damage is an error only if the library does not continue after it, as in
// Pillow.
func (l *Library) Decode(file []byte, maxPixels int) (p *Pixels, err error) {
	if len(file) == 0 {
		return nil, errors.New("the file is empty")
	}
	runtime.LockOSThread() // version 2 keeps messages per thread
	defer runtime.UnlockOSThread()
	// A handle keeps the tables of its file and would use them to decode a later file that lacks some.
	h := l.native.create()
	if h == 0 {
		return nil, fmt.Errorf("libjpeg-turbo: %s", l.native.lastError(0))
	}
	defer l.native.destroy(h)
	return l.decode(h, file, maxPixels)
}

func (l *Library) decode(h uintptr, file []byte, maxPixels int) (*Pixels, error) {
	var width, height, sampling, colours int32
	if l.native.header(h, &file[0], uint64(len(file)), &width, &height, &sampling, &colours) != 0 {
		// Chroma subsamplings that have no name in the library are decoded as
		// well.
		if err := l.failure(h, file); err != nil && !strings.Contains(err.Error(), "determine subsampling") {
			return nil, err
		}
	}
	if width <= 0 || height <= 0 {
		return nil, fmt.Errorf("%w: it ends before the image data", ErrTruncated)
	}
	if int(width) > maxPixels/int(height) {
		return nil, fmt.Errorf("%d x %d pixels; 1 to %d pixels in all are supported", width, height, maxPixels)
	}
	p := &Pixels{Width: int(width), Height: int(height), Inks: colours == coloursCMYK || colours == coloursYCCK}
	channels, format := 3, int32(pixelsRGB)
	if p.Inks {
		channels, format = 4, pixelsCMYK
	}
	p.Pix = make([]uint8, channels*p.Width*p.Height)
	if l.native.decode(h, &file[0], uint64(len(file)), &p.Pix[0], width, int32(channels)*width, height, format, limitScans) != 0 {
		if err := l.failure(h, file); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// failure returns the error of the last call on a handle, nil for warnings
// about damage after which the image is still decoded.
func (l *Library) failure(h uintptr, file []byte) error {
	msg := l.native.lastError(h)
	switch {
	case strings.Contains(strings.ToLower(msg), "premature end"):
		return fmt.Errorf("%w (%s)", ErrTruncated, msg)
	case bytes.HasPrefix(file, []byte{0xff, 0xd8}) && !ends(file):
		return fmt.Errorf("%w (%s, and no end marker)", ErrTruncated, msg)
	case !isWarning(msg):
		return errors.New(msg)
	}
	return nil
}

// isWarning reports whether a message is one of libjpeg's warnings, after which
// it continues. The code of the error does not help: after any earlier warning,
// a failed call has the code of a warning as well.
func isWarning(msg string) bool {
	return slices.ContainsFunc([]string{
		"Corrupt JPEG data: ", "Inconsistent progression sequence ", "Invalid SOS parameters for sequential JPEG",
		"Unknown Adobe color transform code ", "Warning: ",
	}, func(start string) bool { return strings.HasPrefix(msg, start) })
}

// ends reports whether the end marker follows the last scan. The library
// reports only the first of several warnings, which need not be the one about
// truncated data.
func ends(file []byte) bool {
	scan, end := []byte{0xff, 0xda}, []byte{0xff, 0xd9}
	return bytes.LastIndex(file, end) > bytes.LastIndex(file, scan)
}
