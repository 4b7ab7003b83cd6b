package pipeline_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/costing"
	"pipe/pipeline/eval"
	"pipe/pipeline/imports"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// quickTraining trains one policy of the recipe paper for a moment.
func quickTraining() train.Settings {
	c := train.DefaultSettings()
	c.Recipe, c.Methods, c.Seeds, c.Network.Epochs = paper.Name, nil, 1, 1
	return c
}

// inMemory is a valid tensor of training and validation rows.
func inMemory() *costs.Tensor {
	t, val := world.SyntheticTensor(60, costs.Train, 1, true), world.SyntheticTensor(40, costs.Val, 1, true)
	t.IDs, t.Splits = append(t.IDs, val.IDs...), append(t.Splits, val.Splits...)
	t.Features, t.Loss = append(t.Features, val.Features...), append(t.Loss, val.Loss...)
	actions := *t.Actions
	actions.Experts = append([]costs.Expert(nil), actions.Experts...)
	t.Actions = &actions
	return t
}

// damages are the ways in which a tensor in memory can be wrong, with what the error says.
var damages = map[string]func(t *costs.Tensor) *costs.Tensor{
	"there is no tensor": func(*costs.Tensor) *costs.Tensor { return nil },
	"no actions":         func(t *costs.Tensor) *costs.Tensor { t.Actions = nil; return t },
	"loss[3]":            func(t *costs.Tensor) *costs.Tensor { t.Loss[3] = float32(math.NaN()); return t },
	"loss[2]":            func(t *costs.Tensor) *costs.Tensor { t.Loss[2] = float32(math.Inf(1)); return t },
	"features[1]":        func(t *costs.Tensor) *costs.Tensor { t.Features[1] = float32(math.NaN()); return t },
	"fee[2]": func(t *costs.Tensor) *costs.Tensor {
		t.Fee = make([]float32, len(t.Loss))
		t.Fee[2] = -5
		return t
	},
	"has fee -1":        func(t *costs.Tensor) *costs.Tensor { t.Actions.Experts[0].Fee = -1; return t },
	"duplicate expert":  func(t *costs.Tensor) *costs.Tensor { t.Actions.Experts[1].Name = t.Actions.Experts[0].Name; return t },
	"column id":         func(t *costs.Tensor) *costs.Tensor { t.IDs[3] = t.IDs[4]; return t },
	"there are no rows": func(t *costs.Tensor) *costs.Tensor { t.IDs = nil; return t },
	"unknown split":     func(t *costs.Tensor) *costs.Tensor { t.Splits[3] = 9; return t },
	"dimension is 0":    func(t *costs.Tensor) *costs.Tensor { t.Dim = 0; return t },
	"column features":   func(t *costs.Tensor) *costs.Tensor { t.Features = t.Features[:9]; return t },
}

// TestTensorsInMemoryAreChecked: every function that takes a tensor refuses a wrong one.
func TestTensorsInMemoryAreChecked(t *testing.T) {
	rt, o := orttest.Open(t, 1), eval.DefaultOptions()
	trained, _, err := train.Policies(t.Context(), rt, inMemory(), quickTraining(), models.CheckpointPolicy{}, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	into := train.DefaultOptions()
	into.Settings, into.Out = quickTraining(), storage.File(filepath.Join(t.TempDir(), "out"))
	for name, use := range map[string]func(*costs.Tensor) error{
		"train.Policies": func(x *costs.Tensor) error {
			_, _, err := train.Policies(t.Context(), rt, x, quickTraining(), models.CheckpointPolicy{}, stage.Quiet)
			return err
		},
		"train.RunOn": func(x *costs.Tensor) error {
			_, err := train.RunOn(t.Context(), rt, x, into, into.Out.Join("checkpoints").String(), stage.Quiet)
			return err
		},
		"eval.Policies": func(x *costs.Tensor) error {
			_, err := eval.Policies(t.Context(), rt, x, trained, o, stage.Quiet)
			return err
		},
		"eval.Decisions": func(x *costs.Tensor) error {
			_, err := eval.Decisions(t.Context(), rt, x, nil, o, stage.Quiet)
			return err
		},
		"DecideRows": func(x *costs.Tensor) error {
			_, err := replay.Decide(t.Context(), rt, trained[0], x, []int{0})
			return err
		},
		"OpenLearned": func(x *costs.Tensor) error {
			_, err := replay.Open(t.Context(), rt, storage.File("none.onnx"), x, []int{0})
			return err
		},
	} {
		for want, damage := range damages {
			if err := use(damage(inMemory())); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one about %q", name, err, want)
			}
		}
	}
	if _, err := os.Stat(into.Out.String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused training left a folder: %v", err)
	}
}

// TestNoRuntimeIsAnError: not a panic.
func TestNoRuntimeIsAnError(t *testing.T) {
	c, o := quickTraining(), eval.DefaultOptions()
	_, _, trained := train.Policies(t.Context(), nil, inMemory(), c, models.CheckpointPolicy{}, stage.Quiet)
	_, policies := eval.Policies(t.Context(), nil, inMemory(), nil, o, stage.Quiet)
	_, evaluated := eval.Decisions(t.Context(), nil, inMemory(), nil, o, stage.Quiet)
	_, decided := replay.Decide(t.Context(), nil, &policy.Policy{}, inMemory(), []int{0})
	_, opened := replay.Open(t.Context(), nil, storage.File("none.onnx"), inMemory(), []int{0})
	for _, err := range []error{trained, policies, evaluated, decided, opened} {
		if !errors.Is(err, ort.ErrNoRuntime) {
			t.Errorf("error %v, want ErrNoRuntime", err)
		}
	}
}

// TestNilProgressIsQuiet: results are the same as with one.
func TestNilProgressIsQuiet(t *testing.T) {
	rt, o := orttest.Open(t, 1), eval.DefaultOptions()
	var losses []float64
	for _, p := range []stage.Progress{stage.Quiet, nil} {
		trained, _, err := train.Policies(t.Context(), rt, inMemory(), quickTraining(), models.CheckpointPolicy{}, p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := eval.Policies(t.Context(), rt, inMemory(), trained, o, p)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, r.Rows[0].TrueLossMean)
	}
	if losses[0] != losses[1] {
		t.Errorf("losses %v", losses)
	}
	_, costsErr := costing.Run(t.Context(), costing.Options{Config: storage.File(filepath.Join(t.TempDir(), "none.yaml"))}, nil)
	_, trainErr := train.Run(t.Context(), train.Options{Settings: quickTraining(), Split: "val", Tensor: storage.File("none.parquet"), Out: storage.File(t.TempDir())}, nil)
	for _, err := range []error{costsErr, trainErr} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want a missing file", err)
		}
	}
}

// TestDecisionsInMemoryAreChecked: those of another split, of no policy, or of actions that do not exist.
func TestDecisionsInMemoryAreChecked(t *testing.T) {
	rt, o, x := orttest.Open(t, 1), eval.DefaultOptions(), inMemory()
	trained, _, err := train.Policies(t.Context(), rt, x, quickTraining(), models.CheckpointPolicy{}, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	for want, rows := range map[string][]int{"no row 1000": {1000}, "no row -1": {0, -1}} {
		if _, err := replay.Decide(t.Context(), rt, trained[0], x, rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rows %v: %v", rows, err)
		}
	}
	if _, err := replay.Decide(t.Context(), rt, nil, x, []int{0}); err == nil {
		t.Error("no policy: no error")
	}
	if _, err := eval.Policies(t.Context(), rt, x, []*policy.Policy{nil}, o, nil); err == nil {
		t.Error("no policy: no error")
	}
	good, err := replay.Decide(t.Context(), rt, trained[0], x, x.Rows(costs.Val))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(l *replay.Decisions){
		"name no policy":           func(l *replay.Decisions) { l.Info = nil },
		"39 actions":               func(l *replay.Decisions) { l.Action = l.Action[1:] },
		"0 scores":                 func(l *replay.Decisions) { l.Scores = nil },
		"row 2 has the action 9":   func(l *replay.Decisions) { l.Action = append([]int{0, 0, 9}, l.Action[3:]...) },
		"row 0 has the action -1,": func(l *replay.Decisions) { l.Action = append([]int{-1}, l.Action[1:]...) },
	} {
		bad := good
		change(&bad)
		if _, err := eval.Decisions(t.Context(), rt, x, []replay.Decisions{bad}, o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// TestOwnNamesAreNoPaths: names become parts of paths, so they are checked before anything is written.
func TestOwnNamesAreNoPaths(t *testing.T) {
	surrogate := models.Methods()[0].Surrogate
	for _, name := range []string{"../up", "a/b", "mine\nx", ".", "", auto.Name, "ours-lambda1"} {
		o := train.DefaultOptions()
		o.Settings, o.Out = quickTraining(), storage.File(filepath.Join(t.TempDir(), "out", "policies"))
		o.Methods, o.Own = []string{name}, []models.Method{{Name: name, Surrogate: surrogate}}
		if _, err := train.RunOn(t.Context(), orttest.Open(t, 1), inMemory(), o, o.Out.Join("checkpoints").String(), nil); err == nil || !strings.Contains(err.Error(), "the name") {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(o.Out.Dir().String()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: something was written: %v", name, err)
		}
		e := eval.DefaultOptions()
		e.Own = o.Own
		if err := e.Validate(); err == nil {
			t.Errorf("evaluation takes the name %q", name)
		}
	}
}

// TestErrorsCanBeNamed by importers: of a folder in use and of a configuration.
func TestErrorsCanBeNamed(t *testing.T) {
	out := t.TempDir()
	_, err := stage.Alone(storage.File(out), func() (int, error) {
		_, err := train.Run(t.Context(), train.Options{Settings: quickTraining(), Split: "val", Tensor: storage.File("none.parquet"), Out: storage.File(out)}, nil)
		return 0, err
	})
	var used *stage.InUseError
	if !errors.As(err, &used) {
		t.Errorf("error %v, want that the folder is in use", err)
	}
	file := filepath.Join(out, "bad.yaml")
	if err := os.WriteFile(file, []byte("nonsense: 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *stage.ConfigError
	if _, err := imports.Run(t.Context(), imports.Options{Config: storage.File(file), Out: storage.File(filepath.Join(out, "t.parquet"))}, nil); !errors.As(err, &bad) || len(bad.Problems) == 0 {
		t.Errorf("error %v, want one of the configuration", err)
	}
	if err := train.CheckRecipes([]string{"auto", "best", "auto"}); err == nil || !strings.Contains(err.Error(), `"best"`) || !strings.Contains(err.Error(), "duplicate") {
		t.Error(err)
	}
	if err := train.CheckRecipes([]string{"auto", "paper"}); err != nil {
		t.Error(err)
	}
}
