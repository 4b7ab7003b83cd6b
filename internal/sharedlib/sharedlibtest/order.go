// Package sharedlibtest tests how packages find their shared libraries.
package sharedlibtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes an executable file, with the folders above it, and returns its path.
func WriteFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// CheckOrder checks where locate finds a library: at the path it is given; else in the folder or at the path in the
// environment variable; else in third_party/project/lib of a folder above the working directory. file is a name that the
// library may have. CheckOrder changes the working directory until the test ends.
func CheckOrder(t *testing.T, variable, project, file string, locate func(path string) (found string, tried []string, err error)) {
	t.Helper()
	given := WriteFile(t, filepath.Join(t.TempDir(), "own.so"), nil)
	folder := t.TempDir()
	inFolder := WriteFile(t, filepath.Join(folder, file), nil)
	checkout := t.TempDir()
	fetched := WriteFile(t, filepath.Join(checkout, "third_party", project, "lib", file), nil)
	deep := filepath.Join(checkout, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	for _, c := range []struct{ path, env, want string }{
		{given, folder, given},
		{"", folder, inFolder},
		{"", inFolder, inFolder},
		{"", "", fetched},
	} {
		t.Setenv(variable, c.env)
		got, tried, err := locate(c.path)
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
