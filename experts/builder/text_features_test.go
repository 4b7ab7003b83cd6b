package builder

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"

	"pipe/costs"
	"pipe/costs/identity"
)

// TestTextFeatures holds the features of a build against the encoder.
func TestTextFeatures(t *testing.T) {
	w := newTextWorld(t, 40)
	e := w.words
	_, tensor := w.build(t)
	if tensor.Dim != parttest.WordsDim || tensor.Actions.Features.Name != "text words" {
		t.Fatalf("features %+v", tensor.Actions.Features)
	}
	for n := range tensor.Len() {
		if !slices.Equal(tensor.Row(n), e.Vector(parttest.Claim("Thing", n))) {
			t.Fatalf("instance %d has other features", n)
		}
	}
	if got := tensor.Actions.Digests[costs.FeatureDigest]; got != identity.Digest(identity.Block{Name: "text words", Dim: parttest.WordsDim, Models: []string{e.Digest()}}) {
		t.Errorf("feature digest %s", got)
	}
	w.useWords(&parttest.Words{Salt: "other"})
	var changed *ChangedError
	if _, err := Run(t.Context(), w.cfg, w.options(t)); !errors.As(err, &changed) || !strings.Contains(err.Error(), "model of features[0] text changed") {
		t.Errorf("with another encoder: %v", err)
	}
}

// TestTextsAreEmbeddedOnce builds with an encoder that fails half-way: the next
// run embeds what is missing and nothing else, and leaves the bytes of a build
// that ran through.
func TestTextsAreEmbeddedOnce(t *testing.T) {
	const n = 3*512 - 100 // three calls of the encoder
	whole := newTextWorld(t, n)
	whole.build(t)
	w := newTextWorld(t, n)
	failing := w.useWords(&parttest.Words{Limit: 2})
	if _, err := Run(t.Context(), w.cfg, w.options(t)); !errors.Is(err, parttest.ErrLimit) {
		t.Fatalf("got %v", err)
	}
	fresh := w.useWords(&parttest.Words{})
	w.build(t)
	all := append(failing.Asked(), fresh.Asked()...)
	if slices.Sort(all); len(all) != n || len(slices.Compact(all)) != n {
		t.Errorf("%d + %d texts were embedded, there are %d", len(failing.Asked()), len(fresh.Asked()), n)
	}
	if readBytes(t, w.out()) != readBytes(t, whole.out()) {
		t.Error("the tensors differ")
	}
	if !maps.Equal(trainedFiles(t, w.out()), trainedFiles(t, whole.out())) {
		t.Error("the folders of experts differ")
	}
	idle := w.useWords(&parttest.Words{})
	w.build(t)
	o := w.options(t)
	o.Restart = true
	if _, err := Run(t.Context(), w.cfg, o); err != nil || idle.Calls() > 0 {
		t.Errorf("built again: %v, %d texts were embedded", err, len(idle.Asked()))
	}
}

func TestBadTextFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"no encoder": {func(w *world) { w.cfg.Features[0].Settings = nil }, "features[0] text: encoder: not set"},
		"no texts": {func(w *world) {
			w.write(t, "table.csv", "id,label\n0,a\n1,b\n")
			w.write(t, "answers.csv", "id,prediction\n0,a\n1,b\n")
			w.cfg.Labels = nil
			w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "table.csv"}}
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
