package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"pipe/pipeline/stage"
)

// Reading every byte of a large index takes long: it ends when nobody waits any more.
func TestInspectIndexEnds(t *testing.T) {
	o := DefaultIndexOptions()
	o.Pages, o.Out = generatedPages(t, 50), filepath.Join(t.TempDir(), "pages.bm25")
	if _, err := IndexPages(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e, err := Inspect(ctx, o.Out, DefaultInspectOptions())
	if err != nil || e.(*IndexExplanation).Index.Pages != 50 {
		t.Errorf("%+v, %v", e, err)
	}
	cancel()
	if _, err := Inspect(ctx, o.Out, DefaultInspectOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
