package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/models/lightgbm"
	"pipe/onnx"
)

// withAllExperts configures every kind of trained expert, trees only where
// LightGBM is there.
func (w *world) withAllExperts() *world {
	w.cfg.Experts = append(w.cfg.Experts, part.ExpertConfig{Name: "net", Kind: "mlp", Settings: map[string]any{"epochs": 4, "batch": 64, "hidden": []int{8}}})
	if _, err := lightgbm.Open(""); err == nil || os.Getenv("CI") == "true" {
		w.cfg.Experts = append(w.cfg.Experts, part.ExpertConfig{Name: "trees", Kind: "boosted_trees", Settings: map[string]any{"rounds": 20, "threads": 1}})
	}
	return w
}

// learnt returns the plan of a world whose experts have learnt.
func (w *world) learnt(t *testing.T) *plan {
	t.Helper()
	o := w.options(t)
	p, out, err := prepare(t.Context(), &w.cfg, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	work, err := openWork(out.String())
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	if err := p.prepare(t.Context(), work, nil, &o); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHiddenColumnsDoNotCount changes one cell of every column: no expert may
// notice under a level that hides the column, and each must under one that
// shows it.
func TestHiddenColumnsDoNotCount(t *testing.T) {
	w := newTabularWorld(t, 600).withAllExperts()
	p := w.learnt(t)
	rows := make([]int, 64)
	for i := range rows {
		rows[i] = 3 + 4*i
	}
	ask := func(column int, value float32) [][][]part.Prediction {
		batch, err := p.Source.Load(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for n := range batch {
			if column >= 0 {
				batch[n].Values[column] = value
			}
		}
		answers, err := p.answers(t.Context(), batch, nil)
		if err != nil {
			t.Fatal(err)
		}
		return answers
	}
	before := ask(-1, 0)
	for i, c := range p.Source.(part.EncodedSource).Encoder().Columns() {
		for _, value := range []float32{3, float32(math.NaN())} {
			after := ask(i, value)
			for j := range p.Experts {
				for k := range p.Levels {
					same := slices.EqualFunc(before[j][k], after[j][k], func(a, b part.Prediction) bool {
						return a.Probabilities[1] == b.Probabilities[1]
					})
					if c.Group > k && !same {
						t.Errorf("%s at level %d sees %s", p.Experts[j].Name, k, c.Name)
					}
					if c.Name == "device" && k == 2 && same && value == 3 {
						t.Errorf("%s at level %d does not see %s", p.Experts[j].Name, k, c.Name)
					}
				}
			}
		}
	}
}

// TestCrossFitMarksTheTensor holds the two ways to answer training rows against
// each other: the files of the models of all rows are the same, and the digests
// say which way it was.
func TestCrossFitMarksTheTensor(t *testing.T) {
	w := newTabularWorld(t, 400).withAllExperts()
	_, folds := w.build(t)
	v := newTabularWorld(t, 400).withAllExperts()
	v.cfg.CrossFit = 0
	_, inSample := v.build(t)
	if a, b := folds.Actions.Digests["cross_fit"], inSample.Actions.Digests["cross_fit"]; a != "3 folds" || b != "in-sample" {
		t.Errorf("digests say %q and %q", a, b)
	}
	for _, e := range w.cfg.Experts {
		if readBytes(t, w.expertFile(e.Name)) != readBytes(t, v.expertFile(e.Name)) {
			t.Errorf("the model of all rows of %q differs", e.Name)
		}
		if _, err := os.Stat(v.expertFile(e.Name + "-fold0")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("in-sample, but %q has folds: %v", e.Name, err)
		}
		if readBytes(t, w.expertFile(e.Name)) == readBytes(t, w.expertFile(e.Name+"-fold2")) {
			t.Errorf("the fold of %q is the model of all rows", e.Name)
		}
	}
	differ := 0
	for n, s := range folds.Splits {
		same := slices.Equal(folds.Losses(n), inSample.Losses(n))
		if s == costs.Val && !same {
			t.Fatalf("validation row %d has other losses", n)
		}
		if !same {
			differ++
		}
	}
	if differ == 0 {
		t.Error("cross-fitting changed no training row")
	}
}

// TestTrainedFilesExplainThemselves reads the metadata.
func TestTrainedFilesExplainThemselves(t *testing.T) {
	w := newTabularWorld(t, 200)
	_, tensor := w.build(t)
	m, err := onnx.ReadFile(w.expertFile("linear"))
	if err != nil {
		t.Fatal(err)
	}
	meta := m.Metadata()
	if meta["pipe.training"] != tensor.Actions.Digests[`model training of expert "linear"`] || meta["pipe.training"] == "" {
		t.Errorf("file %q, tensor %v", meta["pipe.training"], tensor.Actions.Digests)
	}
	if meta["pipe.kind"] != "expert" || meta["pipe.expert"] != "logistic" || meta["pipe.labels"] != `["no","fraud"]` || meta["pipe.training_rows"] != "150" {
		t.Errorf("metadata %v", meta)
	}
	if limit, there := meta["pipe.threshold"]; there {
		t.Errorf("a file that builds with other thresholds share says %q", limit)
	}
	in, out := m.Inputs(), m.Outputs()
	if len(in) != 1 || in[0].Name != "rows" || len(out) != 1 || out[0].Name != "probability" || out[0].Shape[1].Size != 1 {
		t.Errorf("inputs %v, outputs %v", in, out)
	}
}

// TestTrainedExpertsAreShared: builds that differ in what no model depends on
// share the folder, others train anew.
func TestTrainedExpertsAreShared(t *testing.T) {
	w := newTabularWorld(t, 300).withAllExperts()
	o := w.options(t)
	run := func(out string, change func(cfg *part.Config)) *told {
		t.Helper()
		cfg := w.cfg
		cfg.Experts, cfg.Features = slices.Clone(cfg.Experts), slices.Clone(cfg.Features)
		change(&cfg)
		progress := &told{}
		o.Out, o.Experts, o.Progress = storage.File(filepath.Join(w.dir, out)), storage.File(filepath.Join(w.dir, "shared")).String(), progress
		if _, err := Run(context.Background(), cfg, o); err != nil {
			t.Fatal(err)
		}
		return progress
	}
	if p := run("a.parquet", func(*part.Config) {}); !p.has("steps of linear") {
		t.Fatalf("nothing was trained: %q", p.what)
	}
	if p := run("b.parquet", func(cfg *part.Config) {
		cfg.CrossFit, cfg.TaskLoss.Kind, cfg.Experts[0].Fee = 0, "weighted", 0.5
		cfg.Features[0].Settings = map[string]any{"groups": []string{"base", "contact"}}
	}); p.has("steps of linear") || p.has("rows of linear") || p.has("rows of net") {
		t.Errorf("trained again: %q", p.what)
	}
	if p := run("c.parquet", func(cfg *part.Config) {
		cfg.Experts[0].Settings = map[string]any{"epochs": 5, "batch": 64}
	}); !p.has("steps of linear") || p.has("steps of net") {
		t.Errorf("other epochs of linear: %q", p.what)
	}
	if p := run("d.parquet", func(cfg *part.Config) { cfg.FoldSeed = 9 }); !p.has("steps of net") {
		t.Errorf("other folds: %q", p.what)
	}
	if p := run("e.parquet", func(cfg *part.Config) {
		cfg.FoldSeed = 9
		cfg.Experts[1].Settings = map[string]any{"epochs": 4, "batch": 64, "hidden": []int{8}, "threshold": 0.3}
	}); p.has("steps of net") {
		t.Errorf("another threshold: %q", p.what)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "experts")); err == nil {
		t.Error("experts are beside the output, too")
	}
}

// TestBuildsThatShareExpertsTakeTurns runs several at once.
func TestBuildsThatShareExpertsTakeTurns(t *testing.T) {
	w := newTabularWorld(t, 300)
	var wg sync.WaitGroup
	taught := make([]*told, 4)
	for i := range taught {
		o := w.options(t)
		taught[i] = &told{}
		o.Out, o.Experts, o.Progress = storage.File(filepath.Join(w.dir, fmt.Sprintf("%d.parquet", i))), storage.File(filepath.Join(w.dir, "shared")).String(), taught[i]
		wg.Go(func() {
			if _, err := Run(context.Background(), w.cfg, o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	times := 0
	for i, p := range taught {
		if p.has("steps of linear") {
			times++
		}
		if readBytes(t, filepath.Join(w.dir, fmt.Sprintf("%d.parquet", i))) != readBytes(t, filepath.Join(w.dir, "0.parquet")) {
			t.Errorf("tensor %d differs", i)
		}
	}
	if times != 1 {
		t.Errorf("trained %d times", times)
	}
}

// told remembers what a build said it was doing.
type told struct{ what []string }

func (p *told) Start(_ int64, what string) { p.what = append(p.what, what) }
func (p *told) Add(int64)                  {}
func (p *told) Done()                      {}
func (p *told) Note(string, ...any)        {}
func (p *told) has(what string) bool       { return slices.Contains(p.what, what) }

func TestOtherExpertSettingsAreRefused(t *testing.T) {
	w := newTabularWorld(t, 200)
	w.build(t)
	for want, change := range map[string]func(){
		"cross_fit was 3 folds, is in-sample": func() { w.cfg.CrossFit = 0 },
		`settings of expert "linear" changed`: func() { w.cfg.Experts[0].Settings = map[string]any{"epochs": 3} },
		"settings of task_loss changed":       func() { w.cfg.TaskLoss = part.Part{Kind: "weighted"} },
	} {
		was := w.cfg
		was.Experts = slices.Clone(was.Experts)
		change()
		_, err := Run(t.Context(), w.cfg, w.options(t))
		var changed *ChangedError
		if !errors.As(err, &changed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		w.cfg = was
	}
}

// TestDamagedExpertIsMadeAgain also covers files of something else.
func TestDamagedExpertIsMadeAgain(t *testing.T) {
	w := newTabularWorld(t, 200)
	w.build(t)
	want := readBytes(t, w.expertFile("linear"))
	for name, b := range map[string]string{"half": want[:len(want)/2], "other": readBytes(t, w.expertFile("linear-fold1"))} {
		if err := os.WriteFile(w.expertFile("linear"), []byte(b), 0o666); err != nil {
			t.Fatal(err)
		}
		stale := leaveHalf(t, w.expertFile("linear"))
		if _, err := Diagnose(t.Context(), w.cfg, w.options(t)); err != nil {
			t.Fatal(err)
		}
		if readBytes(t, w.expertFile("linear")) != want {
			t.Errorf("%s: the file was not made again", name)
		}
		if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s is left", name, filepath.Base(stale))
		}
	}
}
