package tabular

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipe/internal/storage"
)

// A table is read more than once, so a pipe is refused; no writer is waited for. A file that is missing is named.
func TestPipeOfATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if _, err := openCSV(t.Context(), storage.File(path)); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "open "+path) {
		t.Errorf("no file: %v", err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *DataError
	if _, err := openCSV(t.Context(), storage.File(path)); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("%v", err)
	}
}
