package storage_test

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// The methods of locations do for objects what those of os do for files.
func TestDisk(t *testing.T) {
	_, url := storagetest.New(t)
	root := storagetest.At(t, url)
	f := folder(t, url)
	for _, name := range []string{"a.csv", "d/x", "d/y/z", "e"} {
		if err := f.WriteFile(t.Context(), name, []byte(name), storage.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, kind := range map[string]string{"a.csv": "file", "d": "folder", "d/y": "folder", "d/x": "file", "none": "", "": "folder"} {
		info, err := root.Join(name).Stat(t.Context())
		got := ""
		switch {
		case err == nil && info.IsDir():
			got = "folder"
		case err == nil:
			got = "file"
		case !errors.Is(err, fs.ErrNotExist):
			t.Error(err)
		}
		if got != kind {
			t.Errorf("%q is %q, want %q", name, got, kind)
		}
	}
	entries, err := root.ReadDir(t.Context())
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"a.csv", "d", "e"}) || !entries[1].IsDir() || entries[2].IsDir() {
		t.Errorf("there are %v, %v", entries, err)
	}
	in, err := root.Join("a.csv").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, from := range []int64{0, 2, 0} {
		if _, err := in.Seek(from, io.SeekStart); err != nil {
			t.Error(err)
		}
		if text, err := io.ReadAll(in); err != nil || string(text) != "a.csv"[from:] {
			t.Errorf("from %d it is %q, %v", from, text, err)
		}
	}
	for _, want := range []error{nil, fs.ErrNotExist} { // the second time it is gone
		if err := root.Join("e").Remove(t.Context()); !errors.Is(err, want) {
			t.Errorf("removing: %v, want %v", err, want)
		}
	}
}
