// Package tree writes the files of a package as a tar archive. The same files give the same bytes.
package tree

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// File is a file of a package. Its content is Data, or that of the file at From. Link makes it a symbolic link.
type File struct {
	Name string      // with slashes, without one in front
	Mode fs.FileMode // permissions, and fs.ModeDir for an empty folder
	From string
	Data []byte
	Link string
}

// open returns the content and its size.
func (f File) open() (io.ReadCloser, int64, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), int64(len(f.Data)), nil
	}
	r, err := os.Open(f.From)
	if err != nil {
		return nil, 0, err
	}
	info, err := r.Stat()
	if err != nil {
		return nil, 0, err
	}
	return r, info.Size(), nil
}

// Content returns the content.
func (f File) Content() ([]byte, error) {
	r, n, err := f.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, err
}

// Size is the number of bytes of all files.
func Size(files []File) (sum int64, err error) {
	for _, f := range files {
		r, n, err := f.open()
		if err != nil {
			return 0, err
		}
		if err := r.Close(); err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Write writes the files in the order of their names, with the folders above them. All belong to root, and at is their time.
func Write(w io.Writer, files []File, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range withFolders(files) {
		if err := add(t, f, at.UTC().Truncate(time.Second)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return t.Close()
}

// withFolders adds the folders, and sorts.
func withFolders(files []File) []File {
	all, seen := slices.Clone(files), map[string]bool{}
	for _, f := range files {
		seen[f.Name] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			all = append(all, File{Name: dir, Mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func add(t *tar.Writer, f File, at time.Time) error {
	h := &tar.Header{Name: "./" + f.Name, Mode: int64(f.Mode.Perm()), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatGNU}
	if f.Mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case f.Mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		return t.WriteHeader(h)
	case f.Link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		return t.WriteHeader(h)
	}
	r, size, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	h.Size = size
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, r)
	return err
}
