package ort

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by methods of a closed Runtime, Session or Buffer.
var ErrClosed = errors.New("already closed")

// ErrNoRuntime means that a caller passed a nil *Runtime where one is needed.
var ErrNoRuntime = errors.New("no runtime is given: open one with ort.Open")

// MissingLibraryError means that no ONNX Runtime library was found.
type MissingLibraryError struct {
	Device string   // the requested device
	Tried  []string // every place searched, in order
}

func (e *MissingLibraryError) Error() string {
	return "find the ONNX Runtime library: not found; tried\n  " + strings.Join(e.Tried, "\n  ")
}

// Hint names the command that installs the library.
func (e *MissingLibraryError) Hint() string {
	if e.Device == CUDA {
		return "run `make cuda`, or give the path of a library built with CUDA in --runtime or ONNXRUNTIME_LIB"
	}
	return "put the library beside the program, where packages have it; run `make runtime` in a checkout; or give its path in --runtime or ONNXRUNTIME_LIB, such as " +
		"that of pip's package onnxruntime, in its folder capi"
}

// LoadError means that a file was found but is not a loadable ONNX Runtime library: truncated, built for another
// machine, or not such a library at all.
type LoadError struct {
	Path string
	Err  error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load %q: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Hint names the command that installs a good copy.
func (e *LoadError) Hint() string {
	return "install the package again, run `make runtime` in a checkout for a verified copy, or choose another library with ONNXRUNTIME_LIB"
}

// VersionError means that the library is too old.
type VersionError struct {
	Path  string
	Found string
	Need  string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("load %q: ONNX Runtime %s is too old, need %s or newer", e.Path, e.Found, e.Need)
}

// Hint names the command that installs a new enough library.
func (e *VersionError) Hint() string {
	return "take ONNX Runtime " + PinnedVersion + ", as `make runtime` fetches it in a checkout"
}

// DeviceError means that this library or machine does not have the requested device. There is no silent fallback to
// another device.
type DeviceError struct {
	Device  string
	Library string // path of the loaded library
	Err     error
}

func (e *DeviceError) Error() string {
	return fmt.Sprintf("use device %q with %q: %v", e.Device, e.Library, e.Err)
}

// Unwrap returns the cause.
func (e *DeviceError) Unwrap() error { return e.Err }

// Hint says how to get the device.
func (e *DeviceError) Hint() string {
	switch msg := e.Err.Error(); {
	case strings.Contains(msg, "libcuda.so"):
		return "install the NVIDIA driver (580 or newer, for CUDA 13), or use --device cpu"
	case strings.Contains(msg, "Invalid device ID"):
		return "choose another GPU with --gpu; nvidia-smi lists them, from 0"
	case strings.Contains(msg, "provider option"):
		return "correct the option of the CUDA provider"
	}
	return "run `make cuda` for the GPU libraries (an NVIDIA GPU with a CUDA 13 driver is needed too), or use --device cpu"
}

// native cleans up an error of the binding: its outer layers repeat what the caller already says.
func native(err error) error {
	if err == nil {
		return nil
	}
	msg := err.Error()
	for _, prefix := range []string{"Error running network: ", "Error creating C session: ", "Error creating C session from file: "} {
		msg = strings.TrimPrefix(msg, prefix)
	}
	// Errors of a provider begin with the C++ source position.
	if _, rest, found := strings.Cut(msg, " : FAIL : "); found {
		msg = rest
	}
	return errors.New(msg)
}
