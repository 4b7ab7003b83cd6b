package jpegturbo

import (
	"os"
	"path/filepath"
	"runtime"

	"pipe/internal/sharedlib"
)

// Locate finds the TurboJPEG library. It tries the path, the environment
// variable PIPE_JPEG_LIB, the project's download folder (next to the
// executable, then upwards from the working folder) and the system. If the path
// or the variable is set, only that place is tried. tried lists the places in
// order; the error is a *MissingLibraryError.
func Locate(path string) (found string, tried []string, err error) {
	found, tried = sharedlib.Find(path, EnvLibrary, searchPlaces(), libraryAt)
	if found == "" {
		return "", tried, &MissingLibraryError{Tried: tried}
	}
	return found, tried, nil
}

// libraryNames are the file names of libjpeg-turbo's library.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libturbojpeg.0.dylib", "libturbojpeg.dylib"}
	}
	return []string{"libturbojpeg.so.0", "libturbojpeg.so"}
}

// libraryAt returns the library at place, a file or a folder, or "" if there is
// none.
func libraryAt(place string) string {
	paths := []string{place}
	for _, name := range libraryNames() {
		paths = append(paths, filepath.Join(place, name))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return sharedlib.Absolute(path)
		}
	}
	return ""
}

func searchPlaces() []string {
	places := sharedlib.ProjectPlaces(filepath.Join("third_party", "libjpeg-turbo", "lib"))
	places = append(places, sharedlib.SystemPlaces()...)
	if runtime.GOOS == "darwin" {
		places = append(places, "/opt/homebrew/opt/jpeg-turbo/lib", "/usr/local/opt/jpeg-turbo/lib")
	}
	return places
}
