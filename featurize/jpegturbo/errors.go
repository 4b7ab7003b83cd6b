package jpegturbo

import (
	"fmt"
	"strings"
)

// EnvLibrary is the environment variable that names the library.
const EnvLibrary = "PIPE_JPEG_LIB"

const advice = "apt install libturbojpeg0, brew install jpeg-turbo, or `make jpegturbo`; " + EnvLibrary + " can name the library"

// MissingLibraryError means that no TurboJPEG library was found.
type MissingLibraryError struct {
	Tried []string // every place that was searched, in order
}

func (e *MissingLibraryError) Error() string {
	return "find the TurboJPEG library: not found; tried\n  " + strings.Join(e.Tried, "\n  ")
}

// Hint says how to install the library.
func (e *MissingLibraryError) Hint() string { return advice }

// LoadError means that a file was found but is not a TurboJPEG library that
// this package can use.
type LoadError struct {
	Path string
	Err  error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load %q: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Hint says how to install a working library.
func (e *LoadError) Hint() string { return advice }
