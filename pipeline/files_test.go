package pipeline_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/decide/decidetest"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestOutputsReplaceOnlyFiles: a special file, such as /dev/null, is not replaced.
func TestOutputsReplaceOnlyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.parquet")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, costsErr := costs.NewWriter(t.Context(), storage.File(path), decidetest.Policy(2, 2).Actions, costs.WriterOptions{Dim: 2})
	for _, err := range []error{atomicfile.Write(path, writeText("x")), costsErr} {
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("error is %v", err)
		}
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("%v, %v", info, err)
	}
}

func TestWriteFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, writeText("after")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "after" {
		t.Errorf("the file behind the link holds %q, %v", b, err)
	}
	if target, err := os.Readlink(link); err != nil || target != "file" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}
