package onnx_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx"
)

// missing skips a test whose requirements are not installed; in CI, where they are, it fails.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Model files of other programs can be read, pass the check, and read back after writing to the same bytes.
func TestRealModels(t *testing.T) {
	count := 0
	err := filepath.WalkDir(realdata.Folder(t, "models"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".onnx") {
			return err
		}
		count++
		t.Run(filepath.Base(filepath.Dir(path))+"/"+d.Name(), func(t *testing.T) {
			m, err := onnx.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
			if len(m.Inputs()) == 0 || len(m.Outputs()) == 0 {
				t.Errorf("inputs %v, outputs %v", m.Inputs(), m.Outputs())
			}
			b, err := m.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			again, err := onnx.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if c, _ := again.Marshal(); !bytes.Equal(b, c) {
				t.Error("bytes differ after a round trip")
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		missing(t, "no model files")
	}
}
