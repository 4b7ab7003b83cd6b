package fromlog

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// What no policy decided on, such as a conversation of pictures alone, is left out of tensors and exports, and counted: it has no
// features, and its probability is that of a setting. A log of nothing else is an error that says so.
func TestUndecidedIsLeftOut(t *testing.T) {
	for _, left := range []int{0, 3, 8} {
		folder := mixed(t, func(n int, r *decisionlog.Record) {
			if n < left {
				r.Source, r.Features, r.Propensity, r.OwnPropensity = decisionlog.SourceFixed, nil, slices.Clone(r.OwnPropensity), nil
			}
		})
		o, out := DefaultOptions(), t.TempDir()
		o.Log, o.DSJSON, o.OBP, o.Partial = storage.File(folder), storage.File(filepath.Join(out, "l.dsjson")), storage.File(filepath.Join(out, "l.json")), storage.File(filepath.Join(out, "p.parquet"))
		r, err := Import(t.Context(), o)
		if left == 8 {
			if err == nil || !strings.Contains(err.Error(), "(8 more are conversations that no policy decided on)") {
				t.Errorf("nothing is left: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		tensor, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || r.Fixed != left || r.Exported != 8-left || r.NoOutcome != 0 || tensor.Len() != 8-left ||
			strings.Contains(text.String(), "on which no policy decided") != (left > 0) {
			t.Errorf("%d left out: %+v, %d rows\n%s, %v", left, r, tensor.Len(), &text, err)
		}
	}
}
