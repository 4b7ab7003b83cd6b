package index

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"pipe/internal/storage"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// Reading every byte of a large index takes long, so it stops when its context is cancelled.
func TestInspectIndexEnds(t *testing.T) {
	o := DefaultOptions()
	o.Pages, o.Out = storage.File(generatedPages(t, 50)), storage.File(filepath.Join(t.TempDir(), "pages.bm25"))
	if _, err := Run(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e, err := inspect.File(ctx, o.Out, inspect.DefaultOptions())
	if err != nil || e.(*inspect.IndexExplanation).Index.Pages != 50 {
		t.Errorf("%+v, %v", e, err)
	}
	cancel()
	if _, err := inspect.File(ctx, o.Out, inspect.DefaultOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
