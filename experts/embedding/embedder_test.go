package embedding

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
	"pipe/onnx/ort"
)

// TestVectorsOnDemand asks for texts that were not embedded before.
func TestVectorsOnDemand(t *testing.T) {
	words := &parttest.Words{}
	e, err := New(t.Context(), words, t.TempDir(), "texts")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"one thing", "another", "one thing"}
	for range 2 {
		got, err := e.Vectors(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if !slices.Equal(got[i], words.Vector(text)) {
				t.Errorf("%q has another vector", text)
			}
		}
	}
	if len(words.Asked()) != 2 {
		t.Errorf("embedded %q", words.Asked())
	}
}

// shows is advice that shows two passages of every instance, one of them its own.
type shows struct {
	name    string
	queried bool
}

func (a shows) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	out := make([]part.AdvicePayload, len(batch))
	for n := range batch {
		out[n].Passages = []part.Passage{{Text: a.name + " of all"}, {Text: a.name + " of " + batch[n].Text}}
	}
	return out, nil
}

func (a shows) QueriesModel() bool { return a.queried }

// preparation lends a build of n instances.
func preparation(b *part.Build, folder string, n int) *part.Preparation {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return &part.Preparation{
		Folder: folder, Rows: rows, Workers: 2, Progress: progress.Silent{},
		Load: func(_ context.Context, rows []int) ([]part.Instance, error) {
			batch := make([]part.Instance, len(rows))
			for i, row := range rows {
				batch[i].Text = fmt.Sprintf("text %d", row)
			}
			return batch, nil
		},
		Show: func(ctx context.Context, level int, batch []part.Instance) ([]part.AdvicePayload, error) {
			return b.Levels[level].Advice.Show(ctx, batch)
		},
		Batches: func(rows []int) [][]int { return slices.Collect(slices.Chunk(rows, 7)) },
	}
}

// TestPrepareEmbedsWhatPartsShow: two parts that name the same encoder share it; the texts and the passages of the levels
// that either of them names are embedded once each, also over two builds; advice that asks a model is not asked.
func TestPrepareEmbedsWhatPartsShow(t *testing.T) {
	const n = 20
	folder := t.TempDir()
	open := func(words *parttest.Words) (*Embedder, *part.Build) {
		b := &part.Build{
			Levels: []part.Level{{Advice: shows{name: "a"}}, {Advice: shows{name: "b"}}, {Advice: shows{"c", true}}, {Advice: shows{name: "d"}}},
			Open:   func() (*ort.Runtime, error) { return &ort.Runtime{}, nil }, Inputs: part.Inputs{},
			OpenText: func(*ort.Runtime, string) (part.TextEncoder, error) { return words, nil },
		}
		e, err := Open(t.Context(), b.Setup("one"), "words", 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Open(t.Context(), b.Setup("two"), "words", 3); again != e || err != nil {
			t.Fatalf("the second part does not share the embedder: %v", err)
		}
		for _, name := range []string{"one", "two"} {
			if got := b.Inputs[part.InputName("model", name)]; got != words.Digest() {
				t.Errorf("the model of part %s is %q", name, got)
			}
		}
		if err := e.Prepare(t.Context(), preparation(b, folder, n)); err != nil {
			t.Fatal(err)
		}
		return e, b
	}
	words := &parttest.Words{}
	open(words)
	want := map[string]bool{"b of all": true, "d of all": true}
	for i := range n {
		text := fmt.Sprintf("text %d", i)
		want[text], want["b of "+text], want["d of "+text] = true, true, true
	}
	if got := slices.Sorted(slices.Values(words.Asked())); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("embedded\n%s", strings.Join(got, "\n"))
	}
	idle := &parttest.Words{}
	e, _ := open(idle)
	if _, err := e.Vectors(t.Context(), words.Asked()); err != nil || idle.Calls() > 0 {
		t.Errorf("embedded again: %q, %v", idle.Asked(), err)
	}
}

// TestManyWorkersEmbedTheirOwnRows: in a build that many workers share, nothing is embedded before the first row.
func TestManyWorkersEmbedTheirOwnRows(t *testing.T) {
	words := &parttest.Words{}
	b := &part.Build{
		Levels: []part.Level{{Advice: shows{name: "a"}}},
		Open:   func() (*ort.Runtime, error) { return &ort.Runtime{}, nil }, Inputs: part.Inputs{},
		OpenText: func(*ort.Runtime, string) (part.TextEncoder, error) { return words, nil },
		Divide:   func(context.Context, part.Pass) ([][]byte, error) { return nil, nil },
	}
	e, err := Open(t.Context(), b.Setup("one"), "words", 0)
	if err == nil {
		err = e.Prepare(t.Context(), preparation(b, t.TempDir(), 20))
	}
	if err != nil || words.Calls() > 0 {
		t.Fatalf("embedded %q, %v", words.Asked(), err)
	}
	got, err := e.Vectors(t.Context(), []string{"text 0"})
	if err != nil || len(got) != 1 || len(got[0]) != e.Dim() || words.Calls() != 1 {
		t.Errorf("on demand: %v, %v", got, err)
	}
}
