package feature

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
	"pipe/onnx/ort"
)

// texts is a source of texts.
type texts struct {
	part.Source
	list []string
}

func (s texts) Entries() []part.Entry {
	return slices.Repeat([]part.Entry{{ID: "q"}}, len(s.list))
}

func (s texts) Load(_ context.Context, rows []int) ([]part.Instance, error) {
	batch := make([]part.Instance, len(rows))
	for i, row := range rows {
		batch[i] = part.Instance{Entry: part.Entry{ID: "q"}, Text: s.list[row], Row: row}
	}
	return batch, nil
}

// TestTextFeatures: the features are the vectors of the encoder, whose digest is an input of the build.
func TestTextFeatures(t *testing.T) {
	words := &parttest.Words{}
	build := func(list ...string) *part.Build {
		return &part.Build{
			Source: texts{list: list}, Inputs: part.Inputs{}, Open: func() (*ort.Runtime, error) { return &ort.Runtime{}, nil },
			OpenText: func(*ort.Runtime, string) (part.TextEncoder, error) { return words, nil },
		}
	}
	b := build("one", "two things", "one")
	f, err := newTextFeatures(t.Context(), b.Setup("features[0] text"), map[string]any{"encoder": "words"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Name() != "text words" || f.Dim() != parttest.WordsDim || b.Inputs["model of features[0] text"] != words.Digest() {
		t.Errorf("%q of %d numbers, inputs %v", f.Name(), f.Dim(), b.Inputs)
	}
	for _, p := range part.Opened[part.Preparer](b) {
		if err := p.Prepare(t.Context(), &part.Preparation{
			Folder: t.TempDir(), Workers: 1, Progress: progress.Silent{}, Load: b.Source.Load, Batches: func([]int) [][]int { return nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Source.Load(t.Context(), []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, 3*f.Dim())
	if err := f.Encode(t.Context(), dst, &part.Batch{Instances: batch}); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(words.Vector("one"), words.Vector("two things"), words.Vector("one")); !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
	if _, err := newTextFeatures(t.Context(), build("").Setup("f"), map[string]any{"encoder": "words"}); err == nil || !strings.Contains(err.Error(), `instance "q" has no text`) {
		t.Errorf("an instance without a text: %v", err)
	}
	if _, err := newTextFeatures(t.Context(), build("one").Setup("f"), map[string]any{}); err == nil || !strings.Contains(err.Error(), "encoder: not set") {
		t.Errorf("no encoder: %v", err)
	}
}
