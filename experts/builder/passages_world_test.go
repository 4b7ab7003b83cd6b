package builder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/retrieval"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/storage"
)

// showing is an expert that answers REFUTES unless a passage contains the claim,
// and records what it was shown.
type showing struct{}

func (showing) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		for n := range level {
			told := slices.ContainsFunc(level[n].Passages, func(p part.Passage) bool { return p.Text == batch[n].Text })
			label := map[bool]string{true: "SUPPORTS", false: "REFUTES"}[told]
			out[k] = append(out[k], part.Prediction{Label: label})
		}
	}
	return out, nil
}

func (showing) Close() error { return nil }

// newClaimWorld writes n claims in FEVER's format and n pages, each of which says
// a claim; claims with an odd number are refuted. Words of claims are rare, so
// that the page of a claim is the first that is found.
func newClaimWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	var claims, pages strings.Builder
	for i := range n {
		label, text := "SUPPORTS", fmt.Sprintf("common fact%d thing%d", i, i%7)
		page := text
		if i%2 == 1 {
			label, page = "REFUTES", text+" not"
		}
		fmt.Fprintf(&claims, `{"id": %d, "label": %q, "claim": %q, "evidence": [[[1, 2, "Page_%d", 0]]]}`+"\n", i, label, text, i)
		fmt.Fprintf(&pages, `{"id": "Page_%d", "text": %q, "lines": ""}`+"\n", i, page)
	}
	w.write(t, "claims.jsonl", claims.String())
	w.write(t, "pages.jsonl", pages.String())
	if _, err := bm25.Build(context.Background(), bm25.BuildOptions{
		Pages: storage.File(filepath.Join(w.dir, "pages.jsonl")), Out: storage.File(filepath.Join(w.dir, "pages.bm25")), Settings: bm25.DefaultSettings(),
	}); err != nil {
		t.Fatal(err)
	}
	w.addExpert("showing", func(context.Context, *part.Setup, map[string]any) (part.Expert, error) { return showing{}, nil })
	w.cfg.Instances = part.Part{Kind: "fever", Settings: map[string]any{"file": "claims.jsonl"}}
	w.cfg.Split = part.Part{Kind: "stratified", Settings: map[string]any{"group": "text"}}
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	for _, top := range []int{1, 3, 5} {
		w.cfg.Advice = append(w.cfg.Advice, part.AdviceConfig{
			Name: fmt.Sprintf("top-%d", top), Fee: 0.01 * float64(top), Kind: "passages", Settings: map[string]any{"index": "pages.bm25", "top": top},
		})
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "reader", Kind: "showing"}}
	w.write(t, "f.csv", "id,x\n"+strings.Join(func() (rows []string) {
		for i := range n {
			rows = append(rows, fmt.Sprintf("%d,%d", i, i))
		}
		return rows
	}(), "\n")+"\n")
	w.cfg.Features = []part.Part{{Kind: "file", Settings: map[string]any{"file": "f.csv"}}}
	w.cfg.Shard, w.cfg.Batch = 16, 5
	return w
}

func TestPassagesAreShown(t *testing.T) {
	w := newClaimWorld(t, 60)
	r, tensor := w.mustRun(t)
	if r.Val != 15 || r.Train != 45 {
		t.Errorf("splits %+v", r)
	}
	for n := range tensor.Len() {
		for a := range tensor.Actions.Len() {
			// Without a page the expert says REFUTES; with one it is always right.
			wrong := float32(0)
			if tensor.Labels[n] == "SUPPORTS" && a == 0 {
				wrong = 1
			}
			if got := tensor.Loss[n*tensor.Actions.Len()+a]; got != wrong {
				t.Fatalf("claim %s under %s: loss %v, want %v", tensor.IDs[n], tensor.Actions.Name(a), got, wrong)
			}
		}
	}
	// The same pages without an index give the same tensor but for names and digests.
	for i := range w.cfg.Advice[1:] {
		w.cfg.Advice[1+i].Settings = map[string]any{"pages": "pages.jsonl", "top": w.cfg.Advice[1+i].Settings["top"]}
	}
	if err := os.RemoveAll(w.out() + ".work"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.out()); err != nil {
		t.Fatal(err)
	}
	_, again := w.mustRun(t)
	if !slices.Equal(again.Loss, tensor.Loss) {
		t.Error("an index of the build's own finds something else")
	}
	made, _ := filepath.Glob(filepath.Join(w.dir, "experts", "pages-*.bm25"))
	if len(made) != 1 {
		t.Errorf("indexes %v", made)
	}
}

// Changed pages stop a build that is to be resumed.
func TestAnIndexIsAnInput(t *testing.T) {
	w := newClaimWorld(t, 8)
	w.mustRun(t)
	w.edit(t, "pages.jsonl", "common fact3", "rare fact3")
	if _, err := bm25.Build(context.Background(), bm25.BuildOptions{
		Pages: storage.File(filepath.Join(w.dir, "pages.jsonl")), Out: storage.File(filepath.Join(w.dir, "pages.bm25")), Settings: bm25.DefaultSettings(),
	}); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if _, err := w.run(context.Background()); !errors.As(err, &changed) || !strings.Contains(err.Error(), `pages of advice "top-1" changed`) {
		t.Errorf("got %v", err)
	}
}

func TestBadPassages(t *testing.T) {
	for want, settings := range map[string]map[string]any{
		"exactly one must be set":       {"top": 1},
		"top is 0":                      {"index": "pages.bm25"},
		"no such file":                  {"index": "nothing.bm25", "top": 1},
		"is not an index of pages":      {"index": "claims.jsonl", "top": 1},
		"ranking applies to pages only": {"index": "pages.bm25", "top": 1, "ranking": map[string]any{"k1": 1}},
		"b is 2, not a number from 0":   {"pages": "pages.jsonl", "top": 1, "ranking": map[string]any{"b": 2}},
		`unknown key "ranking.kb"`:      {"pages": "pages.jsonl", "top": 1, "ranking": map[string]any{"kb": 2}},
	} {
		w := newClaimWorld(t, 4)
		w.cfg.Advice[1].Settings = settings
		_, err := w.run(context.Background())
		var part *PartError
		if !errors.As(err, &part) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	w := newWorld(t, 4)
	newClaimWorld(t, 4)
	w.cfg.Advice[1].Kind, w.cfg.Advice[1].Settings = "passages", map[string]any{"pages": "instances.csv", "top": 1}
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), `line 1: is not a page`) {
		t.Errorf("got %v", err)
	}
}

// Of four claims with evidence, one needs two pages, one a page that is not there
// beside one that is, one a page that is not there at all.
func TestRecall(t *testing.T) {
	w := newClaimWorld(t, 8)
	w.write(t, "claims.jsonl", `{"id": 1, "label": "SUPPORTS", "claim": "fact1", "evidence": [[[1, 2, "Page_1", 0], [1, 2, "Page_2", 0]]]}
{"id": 2, "label": "SUPPORTS", "claim": "fact3 common", "evidence": [[[1, 2, "Nowhere", 0], [1, 2, "Page_3", 0]], [[1, 2, "Page_4", 0]]]}
{"id": 3, "label": "REFUTES", "claim": "fact5 thing5", "evidence": [[[1, 2, "Nowhere", 0], [1, 2, "Page_5", 0]]]}
{"id": 4, "label": "REFUTES", "claim": "fact6", "evidence": [[[1, 2, "Nowhere", 0]]]}
{"id": 5, "label": "NOT ENOUGH INFO", "claim": "fact7", "evidence": [[[1, null, null, null]]]}
`)
	reports, err := Recall(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)}, []int{1, 3, 4})
	if err != nil || len(reports) != 1 {
		t.Fatalf("got %+v, %v", reports, err)
	}
	// fact1 finds Page_1 alone; fact3 common finds Page_3, then all others, of which Page_0, Page_2 and Page_4 are the
	// first of the shortest.
	want := retrieval.RecallReport{
		Advice: []string{"top-1", "top-3", "top-5"}, Instances: 5, Gold: 4, Inside: 3, Whole: 2,
		At: []retrieval.RecallAt{{K: 1, Any: 1, Full: 0}, {K: 3, Any: 1, Full: 0}, {K: 4, Any: 1, Full: 0.5}},
	}
	if !reflect.DeepEqual(reports[0], want) {
		t.Errorf("got %+v, want %+v", reports[0], want)
	}
	if _, err := Recall(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)}, []int{0}); err == nil {
		t.Error("k = 0 is possible")
	}
	other := newWorld(t, 4)
	if _, err := Recall(context.Background(), other.cfg, Options{Kinds: other.allKinds(), OpenText: other.openText, Out: storage.File(other.out()), Dir: storage.File(other.dir)}, []int{1}); err == nil || !strings.Contains(err.Error(), "without evidence") {
		t.Errorf("got %v", err)
	}
}
