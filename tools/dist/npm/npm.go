// Package npm writes the npm package of clients/node: a .tgz that npm installs.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Input says what the package is made of.
type Input struct {
	Version string    // as npm takes it, such as 1.2.0 or 1.2.0-rc.1
	Folder  string    // clients/node
	License string    // path of the licence
	Time    time.Time // of every file in the package
}

// unset is the version in Folder/package.json, which Write replaces.
const unset = `"version": "0.0.0"`

var version = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// Write writes the package. The same input gives the same bytes.
func Write(w io.Writer, in Input) error {
	if !version.MatchString(in.Version) {
		return fmt.Errorf("npm package: the version %q is not one as 1.2.0 or 1.2.0-rc.1", in.Version)
	}
	files, err := contents(in)
	if err != nil {
		return fmt.Errorf("npm package: %w", err)
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name])), ModTime: in.Time.Truncate(time.Second).UTC(), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(&h); err != nil {
			return fmt.Errorf("npm package: %s: %w", name, err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// contents are the files of the package by name: those that package.json lists, and those that npm always takes.
func contents(in Input) (map[string][]byte, error) {
	manifest, err := os.ReadFile(filepath.Join(in.Folder, "package.json"))
	if err != nil {
		return nil, err
	}
	var listed struct{ Files []string }
	if err := json.Unmarshal(manifest, &listed); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	if n := bytes.Count(manifest, []byte(unset)); n != 1 {
		return nil, fmt.Errorf("package.json has %s %d times, not once", unset, n)
	}
	filled := fmt.Appendf(nil, `"version": %q`, in.Version)
	files := map[string][]byte{"package.json": bytes.Replace(manifest, []byte(unset), filled, 1)}
	if files["LICENSE"], err = os.ReadFile(in.License); err != nil {
		return nil, err
	}
	for _, pattern := range append(listed.Files, "README.md") {
		found, err := filepath.Glob(filepath.Join(in.Folder, pattern))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("there is no %s in %s", pattern, in.Folder)
		}
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}
