package builder

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/onnx/hf/hftest"
)

// TestClipBuild runs a build from pictures to a tensor: both families answer,
// with other probabilities, and the expert's inputs are in the digests.
func TestClipBuild(t *testing.T) {
	w := newClipWorld(t, 30)
	_, tensor := w.build(t)
	if n := len(classWeightFiles(t, filepath.Join(w.dir, "experts"))); n != 2 {
		t.Errorf("%d files of class weights", n)
	}
	for _, input := range []string{"model", "model class weights", "model logit scale", "classes"} {
		if tensor.Actions.Digests[input+` of expert "clip"`] == "" {
			t.Errorf("no %s among %v", input, tensor.Actions.Digests)
		}
	}
	if want := 12 + len(parttest.CLIPClasses()); tensor.Dim != want {
		t.Errorf("%d features, want %d", tensor.Dim, want)
	}
	if got := tensor.Blocks(); !slices.Equal(got, []int{12, len(parttest.CLIPClasses())}) {
		t.Errorf("blocks of features are %v", got)
	}
	differ := false
	for n := range tensor.Len() {
		var sum float64
		for _, p := range tensor.Row(n)[12:] {
			sum += float64(p)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("probabilities of instance %d sum to %v", n, sum)
		}
		differ = differ || tensor.Predictions[2*n] != tensor.Predictions[2*n+1]
	}
	if !differ {
		t.Error("both families always answer the same")
	}
}

func TestBadClip(t *testing.T) {
	set := func(key string, value any) func(w *world) {
		return func(w *world) { w.cfg.Experts[0].Settings[key] = value }
	}
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"no model":          {set("model", ""), "model: not set"},
		"unknown model":     {set("model", "nowhere/clip"), `find model "nowhere/clip": not found`},
		"batch":             {set("batch", 0), "batch is 0"},
		"precision":         {set("precision", "int8"), `precision is "int8"; known are float32, float16`},
		"unknown key":       {set("templates", "t"), `unknown key "templates"`},
		"no classes there":  {set("classes", "nothing.json"), "read classes: "},
		"label not a class": {func(w *world) { w.edit(t, "classes.json", "n5", "m5") }, `classes: label "n5" of the instances is missing`},
		"class twice":       {func(w *world) { w.edit(t, "classes.json", "n5", "n4") }, `class 5 is "n4", a duplicate of class 4`},
		"few names": {func(w *world) {
			w.write(t, "names.txt", "cat\ndog\n")
			w.cfg.Experts[0].Settings["names"] = "names.txt"
		}, "has 2 names for 6 classes"},
		"none": {func(w *world) { w.cfg.Advice[0] = part.AdviceConfig{Name: "nothing", Kind: "none"} }, `advice "nothing" shows no prompts`},
		"no prompts": {func(w *world) {
			w.cfg.Advice = []part.AdviceConfig{{Name: "plain", Kind: "views", Settings: map[string]any{"views": []string{"centre"}}}}
		}, "none of its advice is of kind prompts"},
		"no image": {func(w *world) {
			w.write(t, "table.csv", "id,label\n0,n0\n1,n1\n2,n0\n3,n1\n4,n0\n5,n1\n6,n0\n7,n1\n")
			w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "table.csv"}}
			w.cfg.Features = w.cfg.Features[1:]
		}, `instance "0" has no image`},
		"long prompts": {
			func(w *world) { w.edit(t, "templates.txt", "the {}", strings.Repeat("very ", 20)+"old {}") },
			"tokens more than the model takes (the first of 6 such prompts)",
		},
		"another tokenizer": {func(w *world) {
			c := hftest.SpellingCLIP(1)
			c.Vocab, c.End = 49408, 49407
			if err := hftest.WriteCLIP(filepath.Join(w.dir, "clip"), c); err != nil {
				t.Fatal(err)
			}
		}, "the tokenizer does not match the model"},
		"not a clip": {func(w *world) {
			if err := hftest.WriteBERT(filepath.Join(w.dir, "clip")); err != nil {
				t.Fatal(err)
			}
		}, `expert "clip": `},
	} {
		t.Run(name, func(t *testing.T) {
			w := newClipWorld(t, 12)
			c.change(w)
			_, err := Run(t.Context(), w.cfg, w.options(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestClipLeavesOtherAdviceOut: levels of other kinds are unavailable, and so is
// none where the configuration says so.
func TestClipLeavesOtherAdviceOut(t *testing.T) {
	w := newClipWorld(t, 12)
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "nothing", Kind: "none"},
		parttest.CLIPPrompts("one", 0.1, 1),
		{Name: "mirrored", Fee: 0.1, Kind: "views", Settings: map[string]any{"views": []string{"mirror"}}},
	}
	w.cfg.Experts[0].Unavailable = []string{"nothing"}
	w.cfg.Features = w.cfg.Features[:1]
	_, tensor := w.build(t)
	if want := []costs.Pair{{Expert: 0, Advice: 0}, {Expert: 0, Advice: 2}}; !slices.Equal(tensor.Actions.Unavailable, want) {
		t.Errorf("unavailable are %v", tensor.Actions.Unavailable)
	}
}

// TestClipByName takes model and tokenizer from the cache of the Hugging Face
// libraries: the class weights are those of the same model in a folder.
func TestClipByName(t *testing.T) {
	w := newClipWorld(t, 12)
	w.build(t)
	want := classWeightFiles(t, filepath.Join(w.dir, "experts"))
	repository := w.folder(t, "hub/models--org--clip")
	w.folder(t, "hub/models--org--clip/refs")
	w.folder(t, "hub/models--org--clip/snapshots")
	w.write(t, "hub/models--org--clip/refs/main", "abc")
	if err := os.Rename(filepath.Join(w.dir, "clip"), filepath.Join(repository, "snapshots", "abc")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HF_HUB_CACHE", filepath.Join(w.dir, "hub"))
	w.cfg.Experts[0].Settings["model"], w.cfg.Experts[0].Settings["tokenizer"] = "org/clip", "org/clip"
	o := w.options(t)
	o.Restart = true
	if _, err := Run(t.Context(), w.cfg, o); err != nil {
		t.Fatal(err)
	}
	if got := classWeightFiles(t, filepath.Join(w.dir, "experts")); !slices.Equal(got, want) {
		t.Errorf("class weights %q, want %q", got, want)
	}
}
