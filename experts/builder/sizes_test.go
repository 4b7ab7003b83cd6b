package builder

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
)

// countingSource counts what a build does with the images of a source.
type countingSource struct {
	part.Source
	mu      sync.Mutex
	loaded  map[string]int // by instance
	resized map[string]int // by image and geometry
}

// Load gives every image sizes that count, of all views that the test shows.
func (s *countingSource) Load(ctx context.Context, rows []int) ([]part.Instance, error) {
	list, err := s.Source.Load(ctx, rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range list {
		s.loaded[list[n].ID]++
		list[n].Sizes = part.NewSizes(list[n].Image, allTenViews(), s.prepare)
	}
	return list, err
}

func (s *countingSource) prepare(p pixel.Preprocess, img *pixel.Image, views []pixel.View) (*pixel.Prepared, error) {
	s.mu.Lock()
	s.resized[fmt.Sprint(img.Width, img.Height, p.Geometry())]++
	s.mu.Unlock()
	return p.Prepare(img, views)
}

func allTenViews() []pixel.View {
	views := make([]pixel.View, len(parttest.TenViews()))
	for i, name := range parttest.TenViews() {
		var err error
		if views[i], err = pixel.ParseView(name, 0); err != nil {
			panic(err)
		}
	}
	return views
}

// sizesWorld is the world of parttest.Shapes.
func sizesWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{dir: dir, cfg: parttest.Shapes(t, dir)}
}

// TestImagesAreWorkedOnOnce counts: one decoding per image, one resizing per image and geometry.
func TestImagesAreWorkedOnOnce(t *testing.T) {
	p := sizesWorld(t).plan(t)
	source := &countingSource{Source: p.Source, loaded: make(map[string]int), resized: make(map[string]int)}
	p.Source = source
	if _, err := p.build(context.Background(), 0, nil); err != nil {
		t.Fatal(err)
	}
	if len(source.loaded) != 10 || len(source.resized) != 2*10 {
		t.Errorf("%d images loaded, want 10; %d resized, want 2 sizes of 10", len(source.loaded), len(source.resized))
	}
	for _, counted := range []map[string]int{source.loaded, source.resized} {
		for what, n := range counted {
			if n != 1 {
				t.Errorf("%s: %d times", what, n)
			}
		}
	}
}

// TestSharingDoesNotShow compares answers of experts that share sizes with those of experts that are alone.
func TestSharingDoesNotShow(t *testing.T) {
	w := sizesWorld(t)
	p := w.plan(t)
	checkLaws(t, p)
	shared, err := p.build(context.Background(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for j, e := range w.cfg.Experts {
		alone := *w
		alone.cfg.Experts = []part.ExpertConfig{e}
		got, err := alone.plan(t).build(context.Background(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range got.Len() {
			for k := range 4 {
				if got.Predictions[4*n+k] != shared.Predictions[12*n+4*j+k] {
					t.Errorf("expert %q, instance %s, level %d: %q alone, %q among others", e.Name, got.IDs[n], k, got.Predictions[4*n+k], shared.Predictions[12*n+4*j+k])
				}
			}
		}
	}
}

// mustRunImages builds into a new folder.
func (w *world) mustRunImages(t *testing.T) (*Report, *costs.Tensor) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.parquet")
	r, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(out), Dir: storage.File(w.dir), Runtime: openRuntime(t)})
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r, tensor
}
