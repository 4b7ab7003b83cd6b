package jpegturbo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocateOrder(t *testing.T) {
	named := writeFile(t, filepath.Join(t.TempDir(), "own.so"), nil)
	folder := t.TempDir()
	inFolder := writeFile(t, filepath.Join(folder, libraryNames()[0]), nil)
	project := t.TempDir()
	fetched := writeFile(t, filepath.Join(project, "third_party", "libjpeg-turbo", "lib", libraryNames()[0]), nil)
	deep := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	for _, c := range []struct{ path, env, want string }{
		{named, folder, named},
		{"", folder, inFolder},
		{"", inFolder, inFolder},
		{"", "", fetched},
	} {
		t.Setenv(EnvLibrary, c.env)
		got, tried, err := Locate(c.path)
		if err != nil || !sameFile(t, got, c.want) || len(tried) == 0 {
			t.Errorf("path %q, variable %q: got %q after %q, %v", c.path, c.env, got, tried, err)
		}
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if err := errors.Join(errX, errY); err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
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
		"not a shared library": writeFile(t, filepath.Join(dir, "text.so"), []byte("#!/bin/sh\n")),
		"truncated":            writeFile(t, filepath.Join(dir, "half.so"), whole[:len(whole)/2]),
		"already uses":         writeFile(t, filepath.Join(dir, "copy.so"), whole),
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
