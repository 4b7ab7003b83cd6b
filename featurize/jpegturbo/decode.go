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

// Pixels are those of a decoded file, rows from the top.
type Pixels struct {
	Width, Height int
	Inks          bool    // Pix holds CMYK as the file has it, else RGB
	Pix           []uint8 // Height x Width x (4 if Inks, else 3)
}

// Decode decodes a JPEG file; greyscale becomes RGB. A file of more than
// maxPixels is refused by its header. Data that end early are an error; other
// damage is not if the library goes on over it, as Pillow has it too.
func (l *Library) Decode(file []byte, maxPixels int) (p *Pixels, err error) {
	if len(file) == 0 {
		return nil, errors.New("the file is empty")
	}
	runtime.LockOSThread() // version 2 keeps messages per thread
	defer runtime.UnlockOSThread()
	// A handle keeps the tables of its file, and a next file that lacks some would be decoded with them.
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
		// Ways of sharing colours that the library has no name for, it decodes.
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

// failure returns what the last call on a handle failed for, nil for warnings
// about damage that leave a picture.
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

// isWarning knows the messages of libjpeg after which it goes on. Its code for a
// call that failed is no help: it is that of a warning whenever one came before.
func isWarning(msg string) bool {
	return slices.ContainsFunc([]string{
		"Corrupt JPEG data: ", "Inconsistent progression sequence ", "Invalid SOS parameters for sequential JPEG",
		"Unknown Adobe color transform code ", "Warning: ",
	}, func(start string) bool { return strings.HasPrefix(msg, start) })
}

// ends reports whether the marker of the end stands behind the last scan. Of
// several warnings, the library reports the first alone, which need not be that
// the data ended.
func ends(file []byte) bool {
	scan, end := []byte{0xff, 0xda}, []byte{0xff, 0xd9}
	return bytes.LastIndex(file, end) > bytes.LastIndex(file, scan)
}
