package builder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/parttest"
	"pipe/onnx/hf/hftest"
)

// classWeightFiles are the paths of the class weights in a folder of experts.
func classWeightFiles(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "class-weights-*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestClassWeightsAreKept: a second build makes no vectors; a damaged or foreign
// file is made again, to the same bytes.
func TestClassWeightsAreKept(t *testing.T) {
	w := newClipWorld(t, 12)
	w.build(t)
	experts := filepath.Join(w.dir, "experts")
	want := trainedFiles(t, w.out())
	files, tensor := classWeightFiles(t, experts), readBytes(t, w.out())
	again := func(what string) {
		t.Helper()
		o := w.options(t)
		o.Restart = true
		if _, err := Run(t.Context(), w.cfg, o); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if readBytes(t, w.out()) != tensor {
			t.Errorf("%s: the tensor differs", what)
		}
	}
	vectors, err := filepath.Glob(filepath.Join(experts, "embeddings-*"))
	if err != nil || len(vectors) != 1 {
		t.Fatal(vectors, err)
	}
	if err := os.Remove(vectors[0]); err != nil {
		t.Fatal(err)
	}
	again("weights are there")
	if _, err := os.Stat(vectors[0]); err == nil {
		t.Error("texts were embedded though all weights were there")
	}
	b := []byte(readBytes(t, files[0]))
	b[len(b)/2] ^= 1
	for what, content := range map[string][]byte{"damaged": b, "cut": b[:100], "foreign": []byte(readBytes(t, files[1])), "empty": {}} {
		if err := os.WriteFile(files[0], content, 0o666); err != nil {
			t.Fatal(err)
		}
		again(what)
		if readBytes(t, files[0]) != want[filepath.Base(files[0])] {
			t.Errorf("%s: the file was not made again", what)
		}
	}
}

// TestClipResumeNoticesChanges: everything that decides the answers is an input.
func TestClipResumeNoticesChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"templates": {func(w *world) { w.edit(t, "templates.txt", "the {}", "this {}") }, `model class weights of expert "clip" changed; templates of advice "one" changed`},
		"names":     {func(w *world) { w.edit(t, "classes.json", "owl", "bat") }, `classes of expert "clip" changed; model class weights of expert "clip" changed`},
		"model": {func(w *world) {
			if err := hftest.WriteCLIP(filepath.Join(w.dir, "clip"), hftest.SpellingCLIP(2)); err != nil {
				t.Fatal(err)
			}
		}, `model class weights of expert "clip" changed; model of expert "clip" changed`},
		"precision": {func(w *world) { w.cfg.Experts[0].Settings["precision"] = "float16" }, `model of expert "clip" changed`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newClipWorld(t, 6)
			w.build(t)
			c.change(w)
			var changed *ChangedError
			if _, err := Run(t.Context(), w.cfg, w.options(t)); !errors.As(err, &changed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestKilledClipResumesToTheSameBytes kills builds that spend most of their time
// on the vectors of 16,000 texts.
func TestKilledClipResumesToTheSameBytes(t *testing.T) {
	openRuntime(t)
	w := newClipWorld(t, 0)
	labels := 4000
	if testing.Short() {
		labels = 1000
	}
	for i := range labels {
		w.cfg.Labels = append(w.cfg.Labels, fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
	}
	for i := range 24 {
		parttest.NoisePNG(t, filepath.Join(w.dir, "images", w.cfg.Labels[i%2], fmt.Sprintf("%d.png", i)), i)
	}
	w.cfg.Experts[0].Settings = map[string]any{"model": "clip"}
	w.cfg.Features = w.cfg.Features[:1]
	w.cfg.Advice = append(w.cfg.Advice, parttest.CLIPPrompts("four", 0.2, 4))
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir}, 15)
}
