package builder

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx"
)

// TestImageModelsThatDoNotFit: one clear error for each.
func TestImageModelsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"layout":          {map[string]any{"layout": "nhwc"}, "takes rows of shape [3 16 16], which is not nhwc; set layout: nchw"},
		"small resize":    {map[string]any{"resize": 15}, "15"},
		"no such corners": {map[string]any{"resize": 16}, `advice "6": view "top-left"`},
		"another size":    {map[string]any{"size": 12}, `size is 12, but input "`},
		"two means":       {map[string]any{"mean": []float64{0, 0}}, "mean has 2 values"},
		"interpolation":   {map[string]any{"interpolation": "lanczos"}, `unknown interpolation "lanczos"`},
		"too few labels":  {map[string]any{"labels": []string{"a"}}, `label "b" of the instances is missing`},
		"another count":   {map[string]any{"labels_before": []string{"background"}}, "for 3 labels"},
		"two lists":       {map[string]any{"labels": []string{"a", "b"}, "labels_file": "classes.txt"}, "set only one"},
		"duplicate label": {map[string]any{"labels_file": "twice.txt"}, `twice.txt": row 3`},
		"no label file":   {map[string]any{"labels_file": "absent.txt"}, "absent.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := sizesWorld(t)
			w.write(t, "classes.txt", "a\nb\n")
			w.write(t, "twice.txt", "a\nb\na\n")
			for k, v := range c.settings {
				w.cfg.Experts[0].Settings[k] = v
			}
			_, err := newPlan(context.Background(), &w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: storage.File(w.dir), Experts: storage.File(filepath.Join(w.dir, "experts")).String(), Progress: progress.Silent{}, Runtime: openRuntime(t)})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `expert "dark"`) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestBatchesThatNoneHas: a graph that insists on an absurd number of rows is refused before there is room for them.
func TestBatchesThatNoneHas(t *testing.T) {
	for n, want := range map[int64]string{0: "batch size out of range", 1 << 40: "batch size out of range", 1 << 28: "rows of 24 values is too large"} {
		w := imageWorld(t, onnx.Fix(n))
		_, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows at a time: got %v, want %q", n, err, want)
		}
	}
}

// TestLabelsFileIsInTheOrderOfTheOutput: the network's second output is the label that the file has second.
func TestLabelsFileIsInTheOrderOfTheOutput(t *testing.T) {
	w := sizesWorld(t)
	w.write(t, "classes.json", `["b", "a"]`)
	_, want := w.mustRunImages(t)
	w.cfg.Experts[0].Settings["labels_file"] = "classes.json"
	_, got := w.mustRunImages(t)
	for n := range got.Len() {
		if got.Predictions[12*n] == want.Predictions[12*n] || got.Predictions[12*n+4] != want.Predictions[12*n+4] {
			t.Errorf("instance %s: %q became %q", got.IDs[n], want.Predictions[12*n], got.Predictions[12*n])
		}
	}
	if got.Actions.Digests[`labels of expert "dark"`] == "" {
		t.Error("the file of labels is no input")
	}
}

// TestHalfPrecisionAnswersAlike: float16 is another graph, whose probabilities are close, and another input of the build.
func TestHalfPrecisionAnswersAlike(t *testing.T) {
	w := sizesWorld(t)
	w.cfg.Features = []part.Part{{Kind: "expert", Settings: map[string]any{"expert": "dark"}}}
	_, want := w.mustRunImages(t)
	w.cfg.Experts[0].Settings["precision"] = "float16"
	_, got := w.mustRunImages(t)
	if d := largestDifference(want, got); d == 0 || d > 1e-2 {
		t.Errorf("probabilities differ by %v", d)
	}
	for _, of := range []string{"settings", costs.FeatureDigest} {
		if want.Actions.Digests[of] == got.Actions.Digests[of] {
			t.Errorf("digest %q does not tell the precision", of)
		}
	}
	w.cfg.Experts[0].Settings["precision"] = "int8"
	if err := w.cfg.Validate(kinds.Builtin()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), `precision is "int8"`) {
		t.Errorf("got %v", err)
	}
}

// TestFeaturesTellHowTheirExpertSeesImages: other pixels make other features, whatever else is the same.
func TestFeaturesTellHowTheirExpertSeesImages(t *testing.T) {
	w := sizesWorld(t)
	w.cfg.Features = []part.Part{{Kind: "expert", Settings: map[string]any{"expert": "dark"}}}
	settings := w.cfg.Experts[0].Settings
	want := w.plan(t).featureDigest()
	if settings["batch"] = 3; w.plan(t).featureDigest() != want {
		t.Error("the rows of a call change the digest")
	}
	for key, value := range map[string]any{"resize": 19, "interpolation": "bilinear", "std": []float64{1, 1, 2}} {
		before := settings[key]
		if settings[key] = value; w.plan(t).featureDigest() == want {
			t.Errorf("%s does not change the digest", key)
		}
		if settings[key] = before; before == nil {
			delete(settings, key)
		}
	}
}

// TestOddLevelsOfViews are refused: what would be passed over, or count twice.
func TestOddLevelsOfViews(t *testing.T) {
	for want, settings := range map[string]map[string]any{
		`advice "1": views: "mirror" is a duplicate`:                                 {"views": []string{"mirror", "centre", "mirror"}},
		`advice "1": corners is set, but no view of a corner is listed`:              {"views": []string{"centre", "mirror"}, "corners": 0.875},
		`view "top-left" is a crop of 0.875 of the shorter side, but images are not`: {"views": []string{"centre", "top-left"}, "corners": 0.875},
	} {
		w := sizesWorld(t)
		w.cfg.Advice[0].Settings = settings
		for _, e := range w.cfg.Experts {
			delete(e.Settings, "resize")
		}
		if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestLogitsAreNoProbabilities: logits that are called probabilities end the build.
func TestLogitsAreNoProbabilities(t *testing.T) {
	w := sizesWorld(t)
	w.cfg.Experts[0].Settings["scores"] = "probabilities"
	if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}); err == nil || !strings.Contains(err.Error(), "set scores: logits") {
		t.Errorf("got %v", err)
	}
}
