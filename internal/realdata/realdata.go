// Package realdata finds the real data sets that tests of several packages read.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder returns the absolute path of a folder of real data: $PIPE_DATA, else shared/data beside the repository, joined
// with the given elements. If it does not exist, the test is skipped, or fails under CI=true.
func Folder(t testing.TB, below ...string) string {
	t.Helper()
	dir := os.Getenv("PIPE_DATA")
	if dir == "" {
		dir = filepath.Join(Root(t), "..", "shared", "data")
	}
	dir, err := filepath.Abs(filepath.Join(append([]string{dir}, below...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("real data are missing: %v", err)
		}
		t.Skipf("real data are missing: %v", err)
	}
	return dir
}

// Root is the folder of go.work, which every module of the repository lies below: the nearest at or above the test's
// working folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.work at or above the working folder")
		}
		dir = up
	}
}
