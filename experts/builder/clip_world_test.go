package builder

import (
	"os"
	"path/filepath"
	"testing"

	"pipe/experts/builder/parttest"
)

// newClipWorld is the world of parttest.CLIP with n pictures.
func newClipWorld(t testing.TB, n int) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{dir: dir, cfg: parttest.CLIP(t, dir, n)}
}

// folder makes a folder of the world and returns its path.
func (w *world) folder(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}
