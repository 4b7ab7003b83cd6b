package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file that is replaced while it is locked can be locked again under its name, and only once at a time.
func TestExisting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := Existing(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "old")
	first, err := Existing(path)
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := Existing(path); !errors.As(err, &used) || used.Path != path {
		t.Fatal(err)
	}
	write(path+".new", "new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	second, err := Existing(path) // another file by now
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Release(), second.Release()); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
}
