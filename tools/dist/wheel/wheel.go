// Package wheel writes the Python package as a wheel, which carries the program for one platform. The same inputs give the same
// bytes.
package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Input is what a wheel is made of.
type Input struct {
	Version  string    // of the program: 1.2.3, 1.2.3-rc.1 or 1.2.3+local, with or without a v in front
	Binary   string    // path of the program; it says which platform the wheel is for
	Source   string    // path of the folder with the package and its METADATA
	Licenses []string  // paths of the licence, and of those of what the program links
	Time     time.Time // of all files in the wheel; zip files know none before 1980
}

// The import name of the package, and the parts of a wheel's name that do not depend on the version: as the program is no extension
// module, every Python 3 can run it.
const (
	name   = "pipe_defer"
	python = "py3-none"
)

// Name is the file name that a wheel must have: pip reads version and platform from it.
func Name(in Input) (string, error) {
	version, err := pythonVersion(in.Version)
	if err != nil {
		return "", err
	}
	platform, err := platformOf(in.Binary)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%s-%s-%s.whl", name, version, python, platform), nil
}

// Write writes a wheel.
func Write(w io.Writer, in Input) error {
	files, info, err := contents(in)
	if err != nil {
		return fmt.Errorf("write wheel: %w", err)
	}
	at := in.Time.UTC()
	if oldest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(oldest) {
		at = oldest
	}
	z := &archive{zip.NewWriter(w), at, new(strings.Builder)}
	for _, f := range files {
		if err := z.add(f); err != nil {
			return fmt.Errorf("write wheel: %s: %w", f.name, err)
		}
	}
	record := info + "RECORD"
	fmt.Fprintf(z.record, "%s,,\n", record)
	if err := z.add(file{name: record, data: []byte(z.record.String())}); err != nil {
		return fmt.Errorf("write wheel: %w", err)
	}
	return z.zip.Close()
}

// file is a file of a wheel.
type file struct {
	name    string // in the wheel
	data    []byte
	program bool
}

// contents are the files of a wheel but its RECORD, in order, and the folder of its metadata.
func contents(in Input) (files []file, info string, err error) {
	version, err := pythonVersion(in.Version)
	if err != nil {
		return nil, "", err
	}
	platform, err := platformOf(in.Binary)
	if err != nil {
		return nil, "", err
	}
	binary, err := os.ReadFile(in.Binary)
	if err != nil {
		return nil, "", err
	}
	metadata, err := metadataOf(in, version)
	if err != nil {
		return nil, "", err
	}
	if files, err = modules(in.Source); err != nil {
		return nil, "", err
	}
	info = fmt.Sprintf("%s-%s.dist-info/", name, version)
	for _, license := range in.Licenses {
		text, err := os.ReadFile(license)
		if err != nil {
			return nil, "", err
		}
		files = append(files, file{info + "licenses/" + filepath.Base(license), text, false})
	}
	return append(
		files,
		file{name + "/bin/pipe", binary, true},
		file{info + "METADATA", metadata, false},
		file{info + "WHEEL", fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: pipe\nRoot-Is-Purelib: false\nTag: %s-%s\n", python, platform), false},
		file{info + "entry_points.txt", []byte("[console_scripts]\npipe = " + name + ".program:main\n"), false},
	), info, nil
}

// metadataOf is METADATA with the version and the names of the licences behind the name.
func metadataOf(in Input, version string) ([]byte, error) {
	b, err := os.ReadFile(path.Join(in.Source, "METADATA"))
	if err != nil {
		return nil, err
	}
	const before = "Name: pipe-defer\n"
	if !bytes.Contains(b, []byte(before)) {
		return nil, fmt.Errorf("METADATA has no line %q", before)
	}
	after := before + "Version: " + version + "\n"
	for _, license := range in.Licenses {
		after += "License-File: " + filepath.Base(license) + "\n"
	}
	return bytes.Replace(b, []byte(before), []byte(after), 1), nil
}

// modules are the modules of the package, and py.typed, which says that they have types.
func modules(source string) (files []file, err error) {
	folder := os.DirFS(source)
	for _, pattern := range []string{name + "/*.py", name + "/py.typed"} {
		names, err := fs.Glob(folder, pattern)
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("%s has no %s", source, pattern)
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			b, err := fs.ReadFile(folder, n)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: n, data: b})
		}
	}
	return files, nil
}

// archive is the zip file of a wheel, and the lines of its RECORD.
type archive struct {
	zip    *zip.Writer
	time   time.Time
	record *strings.Builder
}

func (a *archive) add(f file) error {
	h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: a.time}
	mode := fs.FileMode(0o644)
	if f.program {
		mode = 0o755
	}
	h.SetMode(mode) // pip makes a file executable if its mode here is
	w, err := a.zip.CreateHeader(h)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(f.data)
	fmt.Fprintf(a.record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	_, err = w.Write(f.data)
	return err
}
