package builder

import (
	"context"
	"path/filepath"
	"testing"

	"pipe/experts/retrieval"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// TestRecallOnRealClaims holds the default ranking to what docs/retrieval.md says
// of the 9,999 claims and 2,044 pages.
func TestRecallOnRealClaims(t *testing.T) {
	data := realdata.Folder(t, "fever")
	w := newClaimWorld(t, 4) // for the parts that are not asked
	w.cfg.Instances.Settings = map[string]any{"file": filepath.Join(data, "paper_dev.jsonl")}
	w.cfg.Advice = w.cfg.Advice[:2]
	w.cfg.Advice[1].Settings = map[string]any{"pages": filepath.Join(data, "wiki-pages-001.jsonl"), "top": 1}
	reports, err := Recall(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)}, []int{1, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	t.Logf("%+v", r)
	if r.Instances != 9999 || r.Gold != 6666 || r.Inside != 6666 {
		t.Errorf("counts %+v", r)
	}
	for i, least := range []retrieval.RecallAt{{Any: 0.979, Full: 0.971}, {Any: 0.9969, Full: 0.992}, {Any: 0.9978, Full: 0.994}} {
		if r.At[i].Any < least.Any || r.At[i].Full < least.Full {
			t.Errorf("recall at %d: %+v, want %+v", r.At[i].K, r.At[i], least)
		}
	}
}
