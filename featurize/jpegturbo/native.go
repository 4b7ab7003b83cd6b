package jpegturbo

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// Constants of the TurboJPEG API.
const (
	pixelsRGB  = 0
	pixelsCMYK = 11

	coloursCMYK = 3
	coloursYCCK = 4

	limitScans = 32768 // reject files of more than 500 scans, which could take hours
)

// native holds the C functions of version 2 of the TurboJPEG API, which version
// 3 has as well. Each returns 0, or -1 with a message that lastError reads from
// the same handle. Values of type unsigned long have 64 bits on all supported
// systems.
type native struct {
	create    func() uintptr
	destroy   func(handle uintptr) int32
	header    func(handle uintptr, file *byte, size uint64, width, height, sampling, colours *int32) int32
	decode    func(handle uintptr, file *byte, size uint64, pixels *byte, width, pitch, height, format, flags int32) int32
	lastError func(handle uintptr) string
	major     int
}

// bind looks up all functions before any of them is called.
func bind(library uintptr) (*native, error) {
	n := &native{major: 2}
	for _, f := range []struct {
		name string
		into any
	}{
		{"tjInitDecompress", &n.create},
		{"tjDestroy", &n.destroy},
		{"tjDecompressHeader3", &n.header},
		{"tjDecompress2", &n.decode},
		{"tjGetErrorStr2", &n.lastError},
	} {
		address, err := purego.Dlsym(library, f.name)
		if err != nil || address == 0 {
			return nil, fmt.Errorf("has no %s: not a TurboJPEG library of version 2 or 3", f.name)
		}
		purego.RegisterFunc(f.into, address)
	}
	if address, err := purego.Dlsym(library, "tj3Init"); err == nil && address != 0 {
		n.major = 3
	}
	return n, nil
}
