// Package sharedlib finds shared libraries and checks them before they are loaded, because the loader cannot report
// errors.
package sharedlib

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Find returns the path of the first library that at finds, and the places that it searched, in order. The flag and the
// environment variable are binding: the first of them that is set is the only place searched. A place that is listed twice is
// searched once. path is "" if there is no library.
func Find(flag, variable string, places []string, at func(place string) string) (path string, tried []string) {
	for _, explicit := range []string{flag, os.Getenv(variable)} {
		if explicit != "" {
			places = []string{explicit}
			break
		}
	}
	for _, place := range places {
		if slices.Contains(tried, place) { // beside the program, and above the working folder
			continue
		}
		tried = append(tried, place)
		if path := at(place); path != "" {
			return path, tried
		}
	}
	return "", tried
}

// Absolute makes a path absolute, so that the loader does not look for a bare file name in its own search path.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// programFolder is the folder of the executable, or "" if that is unknown.
func programFolder() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Dir(exe)
}

// InstalledPlaces lists where an installed program has its libraries: beside it, as in an archive, and in lib/pipe beside
// the folder bin, as in a package of a system.
func InstalledPlaces() []string {
	at := programFolder()
	if at == "" {
		return nil
	}
	return []string{at, filepath.Join(filepath.Dir(at), "lib", "pipe")}
}

// ProjectPlaces lists folder beside the folder of the executable, and in the working folder and each of its parents.
func ProjectPlaces(folder string) []string {
	var places []string
	if at := programFolder(); at != "" {
		places = append(places, filepath.Join(filepath.Dir(at), folder))
	}
	dir, err := os.Getwd()
	for err == nil {
		places = append(places, filepath.Join(dir, folder))
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return places
}

// SystemPlaces lists the folders of the loader's environment variable, then the system's standard folders.
func SystemPlaces() []string {
	variable := "LD_LIBRARY_PATH"
	places := []string{"/usr/local/lib", "/usr/lib", "/usr/lib64"}
	switch {
	case runtime.GOOS == "darwin":
		variable = "DYLD_LIBRARY_PATH"
		places = []string{"/usr/local/lib", "/opt/homebrew/lib"}
	case runtime.GOARCH == "amd64":
		places = append(places, "/usr/lib/x86_64-linux-gnu")
	case runtime.GOARCH == "arm64":
		places = append(places, "/usr/lib/aarch64-linux-gnu")
	}
	listed := filepath.SplitList(os.Getenv(variable))
	listed = slices.DeleteFunc(listed, func(s string) bool { return s == "" })
	return append(listed, places...)
}
