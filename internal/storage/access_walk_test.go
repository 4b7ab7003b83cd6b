package storage_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/storage"
)

// Without links, a walk is that of the standard library, also where the visitor leaves something out. With a link, the files
// behind it come in its place.
func TestWalkDir(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1", "a/2", "a/b/3", "c", "d/4", "e"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	walked := func(walk func(string, fs.WalkDirFunc) error, root, at string, then error) (seen []string) {
		err := walk(root, func(path string, e fs.DirEntry, err error) error {
			seen = append(seen, fmt.Sprint(path, e != nil && e.IsDir(), err != nil))
			if filepath.Base(path) == at {
				return then
			}
			return err
		})
		return append(seen, fmt.Sprint(err != nil))
	}
	walkDir := func(root string, visit fs.WalkDirFunc) error {
		return storage.File(root).WalkDir(t.Context(), func(at storage.Location, e fs.DirEntry, err error) error { return visit(at.Path(), e, err) })
	}
	for _, then := range []error{nil, fs.SkipDir, fs.SkipAll, fs.ErrInvalid} {
		for _, at := range []string{filepath.Base(dir), "a", "1", "b", "c", "e", "none"} {
			for _, root := range []string{dir, filepath.Join(dir, "c"), filepath.Join(dir, "none")} {
				got, want := walked(walkDir, root, at, then), walked(filepath.WalkDir, root, at, then)
				if !slices.Equal(got, want) {
					t.Errorf("%v at %q of %q:\n%q\n%q", then, at, root, got, want)
				}
			}
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if got := walked(walkDir, filepath.Join(dir, "l"), "2", fs.SkipDir); len(got) != 4 { // l, l/1, l/2 and the result
		t.Errorf("%q", got)
	}
}
