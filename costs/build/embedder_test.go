package build

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/identity"
)

// TestTextFeatures holds the features of a build against the encoder.
func TestTextFeatures(t *testing.T) {
	w := newTextWorld(t, 40)
	e := w.words
	_, tensor := w.build(t)
	if tensor.Dim != wordsDim || tensor.Actions.Features.Name != "text words" {
		t.Fatalf("features %+v", tensor.Actions.Features)
	}
	want := make([]float32, wordsDim)
	for n := range tensor.Len() {
		e.encode(want, testClaim("Thing", n))
		if !slices.Equal(tensor.Features[n*wordsDim:(n+1)*wordsDim], want) {
			t.Fatalf("instance %d has other features", n)
		}
	}
	if got := tensor.Actions.Digests[costs.FeatureDigest]; got != identity.Digest(identity.Block{Name: "text words", Dim: wordsDim, Models: []string{e.Digest()}}) {
		t.Errorf("feature digest %s", got)
	}
	(&wordsEncoder{name: "other"}).use(w)
	var changed *ChangedError
	if _, err := Run(t.Context(), w.cfg, w.options(t)); !errors.As(err, &changed) || !strings.Contains(err.Error(), "model of features[0] text changed") {
		t.Errorf("with another encoder: %v", err)
	}
}

// TestTextsAreEmbeddedOnce builds with an encoder that fails half-way: the next
// run embeds what is missing and nothing else, and leaves the bytes of a build
// that ran through.
func TestTextsAreEmbeddedOnce(t *testing.T) {
	const n = 3*embedRows - 100
	whole := newTextWorld(t, n)
	whole.build(t)
	w := newTextWorld(t, n)
	tired := (&wordsEncoder{limit: 2}).use(w)
	if _, err := Run(t.Context(), w.cfg, w.options(t)); !errors.Is(err, errTired) {
		t.Fatalf("got %v", err)
	}
	fresh := (&wordsEncoder{}).use(w)
	w.build(t)
	all := append(tired.asked, fresh.asked...)
	if slices.Sort(all); len(all) != n || len(slices.Compact(all)) != n {
		t.Errorf("%d + %d texts were embedded, there are %d", len(tired.asked), len(fresh.asked), n)
	}
	if readBytes(t, w.out()) != readBytes(t, whole.out()) {
		t.Error("the tensors differ")
	}
	if !maps.Equal(trainedFiles(t, w.out()), trainedFiles(t, whole.out())) {
		t.Error("the folders of experts differ")
	}
	asleep := (&wordsEncoder{}).use(w)
	w.build(t)
	o := w.options(t)
	o.Restart = true
	if _, err := Run(t.Context(), w.cfg, o); err != nil || asleep.calls > 0 {
		t.Errorf("built again: %v, %d texts were embedded", err, len(asleep.asked))
	}
}

// TestVectorsOnDemand asks for texts that nobody embedded before.
func TestVectorsOnDemand(t *testing.T) {
	words := &wordsEncoder{}
	e := &embedder{TextEncoder: words}
	if err := e.open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	texts := []string{"one thing", "another", "one thing"}
	for range 2 {
		got, err := e.Vectors(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, wordsDim)
		for i, text := range texts {
			if words.encode(want, text); !slices.Equal(got[i], want) {
				t.Errorf("%q has another vector", text)
			}
		}
	}
	if len(words.asked) != 2 {
		t.Errorf("embedded %q", words.asked)
	}
}

func TestBadTextFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"no encoder": {func(w *world) { w.cfg.Features[0].Settings = nil }, "features[0] text: encoder: none is named"},
		"no texts": {func(w *world) {
			w.write(t, "table.csv", "id,label\n0,a\n1,b\n")
			w.write(t, "answers.csv", "id,prediction\n0,a\n1,b\n")
			w.cfg.Labels = nil
			w.cfg.Instances = Part{Kind: "table", Settings: map[string]any{"file": "table.csv"}}
		}, "features[0] text: instance \"0\" has no text"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTextWorld(t, 12)
			c.change(w)
			_, err := Run(t.Context(), w.cfg, w.options(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if files, _ := filepath.Glob(filepath.Join(w.dir, "experts", "*")); len(files) > 0 {
				t.Errorf("%q are left", files)
			}
		})
	}
}
