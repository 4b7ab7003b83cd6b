package builder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/storage"
)

// TestUnusedColumnsOfAnyType: a table and its copy with columns that cannot be read give the same rows, as long as
// the configuration does not name these columns.
func TestUnusedColumnsOfAnyType(t *testing.T) {
	w := newWorld(t, 12)
	w.write(t, "extra.csv", "id,u\n"+strings.Join(listOf(12, func(i int) string { return fmt.Sprintf("r%d,%d\n", i, i*i) }), ""))
	use := func(ending string) *costs.Tensor {
		w.cfg.Instances.Settings["file"] = "instances" + ending
		for _, e := range w.cfg.Experts {
			e.Settings["file"] = "answers" + ending
		}
		w.cfg.Features = append(w.cfg.Features[:1:1], part.Part{Kind: "file", Settings: map[string]any{"file": "extra" + ending, "columns": []string{"u"}}})
		if err := errors.Join(os.RemoveAll(w.out()), os.RemoveAll(w.out()+".work")); err != nil {
			t.Fatal(err)
		}
		_, tensor := w.mustRun(t)
		return tensor
	}
	want := use(".csv")
	columns := parttest.AddColumns(t, w.dir, "instances.csv", "answers.csv", "extra.csv")
	got := use(".parquet")
	if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Features, want.Features) || fmt.Sprint(got.Loss) != fmt.Sprint(want.Loss) || got.Dim != 3 {
		t.Errorf("%v with %v, want %v with %v", got.IDs, got.Features, want.IDs, want.Features)
	}

	for _, column := range columns {
		for name, feature := range map[string]part.Part{
			"instances": {Kind: "columns", Settings: map[string]any{"columns": []string{column}}},
			"extra":     {Kind: "file", Settings: map[string]any{"file": "extra.parquet", "columns": []string{column}}},
		} {
			w.cfg.Features = []part.Part{feature}
			_, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
			var bad *costs.DataError
			if !errors.As(err, &bad) || bad.File != filepath.Join(w.dir, name+".parquet") || bad.Column != column {
				t.Errorf("%s of %s: %v", column, name, err)
			}
		}
	}
}

func listOf[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}
