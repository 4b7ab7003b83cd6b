package jpegturbo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/ebitengine/purego"

	"pipe/internal/sharedlib"
)

// Library is the loaded TurboJPEG library. It is safe for concurrent use and
// stays loaded until the process ends.
type Library struct {
	path   string
	digest string
	native *native
}

var loaded sharedlib.Once[Library]

// Open finds and loads the library; path is a file, a folder, or empty for a
// search (see Locate). There is one library per process: further calls share
// it, and a call for a different library is a *LoadError. Errors are a
// *MissingLibraryError or a *LoadError, both with a Hint.
func Open(path string) (*Library, error) {
	path, _, err := Locate(path)
	if err != nil {
		return nil, err
	}
	l, err := loaded.Open(path, load)
	if err != nil {
		return nil, &LoadError{path, err}
	}
	return l, nil
}

func load(path string) (*Library, error) {
	// The dynamic loader would crash the process on a truncated file.
	if err := sharedlib.CheckImage(path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	n, err := bind(handle)
	if err != nil {
		return nil, errors.Join(err, purego.Dlclose(handle))
	}
	sum := sha256.Sum256(b)
	return &Library{path: path, digest: hex.EncodeToString(sum[:]), native: n}, nil
}

// file is the path that the library was loaded from.
func (l *Library) file() string { return l.path }

// Name identifies the library by its major version, which is all that a library
// says about itself, and the start of the SHA-256 of its file.
func (l *Library) Name() string {
	return fmt.Sprintf("libjpeg-turbo %d (sha256:%s)", l.native.major, l.digest[:16])
}
