package lightgbm

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pipe/internal/sharedlib"
)

// EnvLibrary is the environment variable that names the library.
const EnvLibrary = "LIGHTGBM_LIB"

// MissingLibraryError reports that no LightGBM library was found.
type MissingLibraryError struct {
	Tried []string // every place searched, in order
}

func (e *MissingLibraryError) Error() string {
	return "find the LightGBM library: not found; tried\n  " + strings.Join(e.Tried, "\n  ")
}

// Hint names the command that installs the library.
func (e *MissingLibraryError) Hint() string {
	return "run `make lightgbm` in a checkout, or give the path of the library, such as lib_lightgbm.so of pip's package lightgbm, in " + EnvLibrary
}

// Locate finds the LightGBM library: the flag, the environment variable LIGHTGBM_LIB, the folders of an
// installed program, the project's download folder (beside the executable, then upwards from the working folder), the system.
// The flag and the variable are binding: if one is set, no other place is searched. tried lists the places in order; the error is a *MissingLibraryError.
func Locate(flag string) (path string, tried []string, err error) {
	path, tried = sharedlib.Find(flag, EnvLibrary, searchPlaces(), libraryAt)
	if path == "" {
		return "", tried, &MissingLibraryError{Tried: tried}
	}
	return path, tried, nil
}

// libraryName is the file name that every build of LightGBM uses.
func libraryName() string {
	if runtime.GOOS == "darwin" {
		return "lib_lightgbm.dylib"
	}
	return "lib_lightgbm.so"
}

// libraryAt returns the library at place, a file or a folder, or "".
func libraryAt(place string) string {
	for _, path := range []string{place, filepath.Join(place, libraryName())} {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return sharedlib.Absolute(path)
		}
	}
	return ""
}

func searchPlaces() []string {
	folder := filepath.Join("third_party", "lightgbm", "lib")
	return slices.Concat(sharedlib.InstalledPlaces(), sharedlib.ProjectPlaces(folder), sharedlib.SystemPlaces())
}
