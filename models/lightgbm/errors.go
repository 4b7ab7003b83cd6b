package lightgbm

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// errClosed is returned by methods of a closed Booster.
var errClosed = errors.New("already closed")

// LoadError reports that a file was found but is not a LightGBM library that this package can use: truncated, built for
// another machine, too old, or not such a library at all.
type LoadError struct {
	Path string
	Err  error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load %q: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Hint names the command that installs a good copy, or the OpenMP library that LightGBM needs.
func (e *LoadError) Hint() string {
	msg := e.Err.Error()
	switch {
	case strings.Contains(msg, "libgomp.so"):
		return "install GCC's OpenMP library: apt-get install libgomp1, dnf install libgomp, or apk add libgomp"
	case runtime.GOOS == "darwin" && strings.Contains(msg, "libomp"):
		return "install the OpenMP library: brew install libomp"
	}
	return "run `make lightgbm` for a verified copy, or choose another library with " + EnvLibrary
}
