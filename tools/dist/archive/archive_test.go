package archive_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pipe/tools/dist/archive"
)

// TestWrite lets tar unpack an archive.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"program": "machine code", "libonnxruntime.so.1": "library", "LICENSE": "licence"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := archive.Input{
		Folder: "pipe-1.2.3-linux-amd64", Program: "pipe", Binary: filepath.Join(dir, "program"), Library: filepath.Join(dir, "libonnxruntime.so.1"),
		Texts: []string{filepath.Join(dir, "LICENSE")}, Time: time.Unix(1e9, 0),
	}
	var first, second bytes.Buffer
	if err := errors.Join(archive.Write(&first, in), archive.Write(&second, in)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same input gives other bytes")
	}
	to := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-xzf", "-", "-C", to)
	unpack.Stdin = &first
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	for name, want := range map[string]string{"pipe": "machine code", "libonnxruntime.so.1": "library", "LICENSE": "licence"} {
		if got, err := os.ReadFile(filepath.Join(to, in.Folder, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q instead of %q (%v)", name, got, want, err)
		}
	}
	if info, err := os.Stat(filepath.Join(to, in.Folder, "pipe")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program cannot be executed: %v, %v", info, err)
	}
}
