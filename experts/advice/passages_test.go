package advice

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// passagesBuild is a build in a folder with pages about things 0 to 8.
func passagesBuild(t *testing.T) *part.Build {
	t.Helper()
	dir, pages := t.TempDir(), &strings.Builder{}
	for i := range 9 {
		fmt.Fprintf(pages, `{"id": "Thing_%d", "text": "thing%d is heavy .", "lines": ""}`+"\n", i, i)
	}
	parttest.Write(t, filepath.Join(dir, "pages.jsonl"), pages.String())
	b := &part.Build{Dir: storage.File(dir), Folder: storage.File(filepath.Join(dir, "experts")).String(), Workers: 2, Progress: progress.Silent{}, Inputs: part.Inputs{}}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestPassagesAreFound: every instance is shown at most top passages, the page about it first, and a level with more
// passages begins with those of a level with fewer. Levels and OpenRetriever share one retriever.
func TestPassagesAreFound(t *testing.T) {
	b := passagesBuild(t)
	batch := make([]part.Instance, 9)
	for i := range batch {
		batch[i].Text = fmt.Sprintf("is thing%d heavy?", i)
	}
	var before []part.AdvicePayload
	var levels []*passages
	for _, top := range []int{1, 3, 20} {
		settings := map[string]any{"pages": "pages.jsonl", "top": top}
		a, err := newPassages(t.Context(), b.Setup(`advice "x"`), settings)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := OpenRetriever(t.Context(), b.Setup(`advice "x"`), settings)
		if err != nil || a.(*passages).retriever != shared {
			t.Fatalf("top %d: the level does not share the retriever, %v", top, err)
		}
		if levels = append(levels, a.(*passages)); levels[0].retriever != shared || a.(part.PassageCounter).Most() != top || a.(part.ModelQuerier).QueriesModel() {
			t.Errorf("top %d: %+v", top, a)
		}
		shown, err := a.Show(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range shown {
			list := s.Passages
			if len(list) != min(top, 9) || list[0].Page != fmt.Sprintf("Thing_%d", n) || s.Query != "" {
				t.Fatalf("top %d: instance %d is shown %+v", top, n, s)
			}
			if before == nil {
				continue
			}
			for i, p := range before[n].Passages {
				if list[i] != p {
					t.Fatalf("top %d: passage %d of instance %d is %+v, not %+v", top, i, n, list[i], p)
				}
			}
		}
		before = shown
	}
	if _, err := levels[0].Show(t.Context(), []part.Instance{{Entry: part.Entry{ID: "q"}}}); err == nil || !strings.Contains(err.Error(), `instance "q" has no text`) {
		t.Errorf("an instance without a text: %v", err)
	}
}

func TestBadPassages(t *testing.T) {
	for want, settings := range map[string]map[string]any{
		"top is 0, not 1 to 1000 passages":    {"pages": "pages.jsonl"},
		"top is 1001, not 1 to 1000 passages": {"pages": "pages.jsonl", "top": 1001},
		"index, pages, opensearch":            {"top": 1},
		"absent.jsonl":                        {"pages": "absent.jsonl", "top": 1},
		`unknown key "tops"`:                  {"tops": 1},
	} {
		if _, err := newPassages(t.Context(), passagesBuild(t).Setup(`advice "x"`), settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	settings := map[string]any{"pages": "pages.jsonl", "top": 1, "reformulator": map[string]any{"kind": "endpoint"}}
	if r, err := OpenRetriever(t.Context(), passagesBuild(t).Setup(`advice "x"`), settings); r != nil || err != nil {
		t.Errorf("with a reformulator: %v, %v", r, err)
	}
}
