package ort

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"pipe/internal/sharedlib"
)

// EnvLibrary is the environment variable that names the library.
const EnvLibrary = "ONNXRUNTIME_LIB"

// Locate finds the ONNX Runtime library for the CPU: the flag, the environment variable ONNXRUNTIME_LIB, the
// folders of an installed program, the project's download folder (beside the executable, then upwards from the working
// folder), the user's cache folder, the system. The flag and the variable are binding: if one is set, no other place is searched. tried lists the places in order;
// the error is a *MissingLibraryError.
func Locate(flag string) (path string, tried []string, err error) {
	return locate(flag, CPU)
}

func locate(flag, device string) (path string, tried []string, err error) {
	path, tried = sharedlib.Find(flag, EnvLibrary, searchPlaces(device), libraryAt)
	if path == "" {
		return "", tried, &MissingLibraryError{Device: device, Tried: tried}
	}
	return path, tried, nil
}

// searchPlaces lists folders in the order they are searched.
func searchPlaces(device string) []string {
	var places []string
	if device == CUDA { // what is beside the program runs on the CPU
		places = sharedlib.ProjectPlaces(filepath.Join("third_party", "onnxruntime-cuda", "lib"))
	}
	places = append(places, sharedlib.InstalledPlaces()...)
	places = append(places, sharedlib.ProjectPlaces(filepath.Join("third_party", "onnxruntime", "lib"))...)
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "pipe", "onnxruntime", PinnedVersion, "lib"))
	}
	return append(places, systemPlaces()...)
}

// systemPlaces adds the folder that ONNX Runtime's archives are unpacked into.
func systemPlaces() []string {
	places := sharedlib.SystemPlaces()
	if runtime.GOOS == "darwin" {
		return places
	}
	return append(places, "/opt/onnxruntime/lib")
}

// libraryAt returns the library at place, a file or a folder, or "".
func libraryAt(place string) string {
	info, err := os.Stat(place)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		return sharedlib.Absolute(place)
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return ""
	}
	best := ""
	for _, e := range entries {
		if isLibraryName(e.Name()) && (best == "" || compareVersions(e.Name(), best) > 0) {
			best = e.Name()
		}
	}
	if best == "" {
		return ""
	}
	return sharedlib.Absolute(filepath.Join(place, best))
}

// isLibraryName accepts libonnxruntime.so, libonnxruntime.so.1.31.1 and libonnxruntime.1.31.1.dylib, but not provider
// libraries.
func isLibraryName(name string) bool {
	if runtime.GOOS == "darwin" {
		return strings.HasPrefix(name, "libonnxruntime.") && strings.HasSuffix(name, ".dylib")
	}
	return name == "libonnxruntime.so" || strings.HasPrefix(name, "libonnxruntime.so.")
}
