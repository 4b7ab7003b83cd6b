package onnx_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/textfile"
	"pipe/onnx"
)

// For a folder, the hint names the models in it.
func TestFolderInsteadOfModel(t *testing.T) {
	dir := t.TempDir()
	hint := func() string {
		_, err := onnx.ReadFile(dir)
		var fault *textfile.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), "is a folder") {
			t.Fatal(err)
		}
		return fault.Hint()
	}
	if got := hint(); !strings.Contains(got, "no .onnx file") {
		t.Errorf("hint %q", got)
	}
	for _, name := range []string{"a.onnx", "b.onnx", "c.onnx", "d.onnx", "report.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := hint(); !strings.Contains(got, filepath.Join(dir, "a.onnx")) || !strings.Contains(got, "and 1 more") || strings.Contains(got, "report") {
		t.Errorf("hint %q", got)
	}
}
