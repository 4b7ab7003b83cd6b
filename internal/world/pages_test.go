package world

import (
	"math"
	"testing"

	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// TestPageLengths: pages have the mean number of words of their distribution.
func TestPageLengths(t *testing.T) {
	o := DefaultPagesOptions()
	o.Pages, o.Out, o.Seed = 5000, storage.File(t.TempDir()), 1
	r, err := GeneratePages(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if mean := float64(r.Words) / float64(r.Pages); math.Abs(mean-pageWords) > 2 {
		t.Errorf("%v words a page", mean)
	}
}

// TestNilProgressIsQuiet: generators take none.
func TestNilProgressIsQuiet(t *testing.T) {
	o := DefaultPagesOptions()
	o.Pages, o.Out = 10, storage.File(t.TempDir())
	if r, err := GeneratePages(t.Context(), o, nil); err != nil || r.Pages != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}
