package jpegturbo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/sharedlib/sharedlibtest"
)

func TestLocateOrder(t *testing.T) {
	sharedlibtest.CheckOrder(t, EnvLibrary, "libjpeg-turbo", libraryNames()[0], Locate)
}

func TestMissingLibrary(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.so")
	_, err := Open(absent)
	var missing *MissingLibraryError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), absent) {
		t.Fatalf("error is %v", err)
	}
	for _, advice := range []string{"apt install libturbojpeg0", "brew install jpeg-turbo", "make jpegturbo"} {
		if !strings.Contains(missing.Hint(), advice) {
			t.Errorf("hint %q does not say %q", missing.Hint(), advice)
		}
	}
}

// TestBadLibraries: files that are something else end in one error each, and
// a good library still loads in the same process.
func TestBadLibraries(t *testing.T) {
	good := testLibrary(t)
	whole, err := os.ReadFile(good.file())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad := map[string]string{
		"not a shared library": sharedlibtest.WriteFile(t, filepath.Join(dir, "text.so"), []byte("#!/bin/sh\n")),
		"truncated":            sharedlibtest.WriteFile(t, filepath.Join(dir, "half.so"), whole[:len(whole)/2]),
		"already uses":         sharedlibtest.WriteFile(t, filepath.Join(dir, "copy.so"), whole),
	}
	for want, path := range bad {
		_, err := Open(path)
		if want != "already uses" {
			_, err = load(path)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	var loadErr *LoadError
	if _, err := Open(bad["already uses"]); !errors.As(err, &loadErr) || loadErr.Hint() == "" {
		t.Errorf("got %v", err)
	}
	if again, err := Open(""); err != nil || again != good {
		t.Errorf("the good library again: %v", err)
	}
}
