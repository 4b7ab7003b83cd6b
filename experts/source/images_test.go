package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// imageFiles is a source of images that a test opens: its folder and its settings.
type imageFiles struct {
	dir      string
	settings map[string]any
}

// newImageFiles writes n square images in folders of classes.
func newImageFiles(t testing.TB, n, side int) *imageFiles {
	t.Helper()
	w := &imageFiles{dir: t.TempDir(), settings: map[string]any{"folder": "images"}}
	parttest.Images(t, w.folder(), n, side)
	return w
}

// folder is where the images lie.
func (w *imageFiles) folder() string { return filepath.Join(w.dir, "images") }

// addImage writes a file below the folder of the images.
func (w *imageFiles) addImage(t testing.TB, id string, b []byte) {
	t.Helper()
	parttest.Write(t, filepath.Join(w.folder(), filepath.FromSlash(id)), string(b))
}

// write writes a file beside the folder of the images.
func (w *imageFiles) write(t testing.TB, name, text string) {
	t.Helper()
	parttest.Write(t, filepath.Join(w.dir, name), text)
}

// open makes the source, as a build does.
func (w *imageFiles) open(t testing.TB) (*images, error) {
	t.Helper()
	s := (&part.Build{Dir: storage.File(w.dir), Folder: storage.File(filepath.Join(w.dir, "experts")).String(), Workers: 2, Progress: progress.Silent{}, Inputs: make(part.Inputs)}).Setup("instances")
	src, err := newImages(t.Context(), s, w.settings)
	if err != nil {
		return nil, err
	}
	return src.(*images), nil
}

// TestLimitsAreSettings widens those that refuse a dot and a ribbon.
func TestLimitsAreSettings(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	w.addImage(t, "n1/dot.png", parttest.PNG(t, 1, 1))
	w.addImage(t, "n2/ribbon.jpg", parttest.JPEG(t, 20000, 10, 5))
	_, err := w.open(t)
	for _, want := range []string{"2 bad images", "dot.png: 1 x 1 pixels, the limit min_side is 8", "ribbon.jpg: 20000 x 10 pixels, the limit max_side is 16384"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	w.settings["limits"] = map[string]any{"min_side": 1, "max_side": 20000}
	src, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := src.Load(t.Context(), []int{1, 3})
	if err != nil || loaded[0].Image.Width != 1 || loaded[1].Image.Width != 20000 {
		t.Errorf("%v, %v", loaded, err)
	}
	w.settings["limits"] = map[string]any{"min_side": 9, "max_side": 8}
	if _, err := w.open(t); err == nil || !strings.Contains(err.Error(), "limits of images") {
		t.Errorf("got %v", err)
	}
}

// TestImagesThatChangeBehindTheCheck are noticed when they are used.
func TestImagesThatChangeBehindTheCheck(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	src, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	w.addImage(t, "n1/000.jpg", parttest.JPEG(t, 16, 16, 99))
	if err := os.Remove(filepath.Join(w.folder(), "n2", "001.jpg")); err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{"has changed since", "existed when images were checked"} {
		_, err := src.Load(t.Context(), []int{row})
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), want) || !strings.HasSuffix(data.File, fmt.Sprintf("%03d.jpg", row)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestLargeImagesMakeSmallBatches cuts batches by what their images hold.
func TestLargeImagesMakeSmallBatches(t *testing.T) {
	const half = batchPixels / 2
	s := &images{pixels: []int{half, half, 1, 3 * half, 1, 1}}
	for from, want := range []int{2, 2, 1, 1, 2, 1} {
		rows := []int{0, 1, 2, 3, 4, 5}[from:]
		if got := s.Fit(rows); got != want {
			t.Errorf("%d of the rows from %d fit, want %d", got, from, want)
		}
	}
}
