package builder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/models/lightgbm"
)

// TestBadTrainedSettings checks that every mistake is one error that names the
// part, and that none leaves a folder behind.
func TestBadTrainedSettings(t *testing.T) {
	expert := func(kind string, settings map[string]any) func(*world) {
		return func(w *world) { w.cfg.Experts[0].Kind, w.cfg.Experts[0].Settings = kind, settings }
	}
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"threshold":      {expert("logistic", map[string]any{"threshold": 1}), `expert "linear": threshold is 1`},
		"unknown key":    {expert("logistic", map[string]any{"hidden": []int{4}}), `expert "linear": unknown key "hidden"`},
		"epochs":         {expert("logistic", map[string]any{"epochs": 0}), "epochs: 0"},
		"learning rate":  {expert("mlp", map[string]any{"learning_rate": -1}), "learning_rate: -1 is not positive"},
		"dropout":        {expert("mlp", map[string]any{"dropout": 1}), "dropout: 1 is outside"},
		"hidden":         {expert("mlp", map[string]any{"hidden": []int{4, 0}}), "layer 1 has width 0"},
		"wide":           {expert("mlp", map[string]any{"hidden": []int{100000000}}), "layer 0 has width 100000000, not 1 to 16384"},
		"decay":          {expert("mlp", map[string]any{"weight_decay": -1}), "weight_decay: -1 is negative"},
		"name":           {func(w *world) { w.cfg.Experts[0].Name = "a/b" }, `the name "a/b" cannot be used for the files`},
		"fold in name":   {func(w *world) { w.cfg.Experts[0].Name = "a-fold1" }, `the name "a-fold1"`},
		"no advice left": {func(w *world) { w.cfg.Experts[0].Unavailable = []string{"base", "contact", "identity"} }, "unavailable: no advice remains"},
		"folds":          {func(w *world) { w.cfg.CrossFit = 1 }, "cross_fit is 1"},
		"group":          {func(w *world) { w.cfg.Advice[1].Settings = map[string]any{"through": "payment"} }, `advice "contact": unknown group "payment"; known are base, contact, identity`},
		"no group":       {func(w *world) { w.cfg.Advice[1].Settings = nil }, "through: not set"},
		"feature group":  {func(w *world) { w.cfg.Features[0].Settings = map[string]any{"groups": []string{"base", "base"}} }, `duplicate group "base"`},
		"no features":    {func(w *world) { w.cfg.Features[0].Settings = nil }, "groups: not set"},
		"no table":       {func(w *world) { w.cfg.Instances.Settings = map[string]any{"file": "absent.parquet"} }, "absent.parquet"},
		"labels":         {func(w *world) { w.cfg.Labels = []string{"no", "fraud", "both"} }, "needs exactly two labels; the configuration has 3"},
		"other label":    {func(w *world) { w.cfg.Labels = []string{"no", "yes"} }, `unknown label "fraud"`},
		"weighted by":    {func(w *world) { w.cfg.TaskLoss = part.Part{Kind: "weighted", Settings: map[string]any{"by": "row"}} }, `by is "row"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTabularWorld(t, 100)
			c.change(w)
			_, err := Run(t.Context(), w.cfg, w.options(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			w.wroteNothing(t)
		})
	}
}

// wroteNothing checks that the world's folder holds its table alone.
func (w *world) wroteNothing(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != "table.parquet" {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// TestRareLabelsAreRefused leaves one positive training row.
func TestRareLabelsAreRefused(t *testing.T) {
	w := newTabularWorld(t, 100)
	f := parttest.Frame(100, 1)
	for i := range f.Labels {
		f.Labels[i] = 0
	}
	f.Labels[4] = 1
	parttest.WriteTable(t, filepath.Join(w.dir, "table.parquet"), f, parttest.Groups())
	_, err := Run(t.Context(), w.cfg, w.options(t))
	if err == nil || !strings.Contains(err.Error(), `1 training row has the label "fraud": with cross_fit 3`) {
		t.Errorf("got %v", err)
	}
	w.wroteNothing(t)
	w.cfg.CrossFit = 0
	if _, err := Run(t.Context(), w.cfg, w.options(t)); err != nil {
		t.Errorf("in-sample: %v", err)
	}
}

// TestTreesWithoutTheLibrary looks for LightGBM where it is not.
func TestTreesWithoutTheLibrary(t *testing.T) {
	t.Setenv(lightgbm.EnvLibrary, filepath.Join(t.TempDir(), "absent.so"))
	w := newTabularWorld(t, 100)
	w.cfg.Experts[0] = part.ExpertConfig{Name: "trees", Kind: "boosted_trees"}
	_, err := Run(t.Context(), w.cfg, w.options(t))
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "make lightgbm") {
		t.Errorf("got %v", err)
	}
	w.wroteNothing(t)
}

// TestGroupsNeedAnEncodedTable uses the parts of an encoded table over another
// source.
func TestGroupsNeedAnEncodedTable(t *testing.T) {
	const want = "column groups are requested, but the instances are not of kind tabular"
	w := newWorld(t, 10)
	w.cfg.Advice[1].Kind, w.cfg.Advice[1].Settings = "groups", map[string]any{"through": "base"}
	if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("advice: got %v", err)
	}
	w = newWorld(t, 10)
	w.cfg.Features = []part.Part{{Kind: "groups", Settings: map[string]any{"groups": []string{"base"}}}}
	if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("features: got %v", err)
	}
}
