package learn

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// Each setting that cannot be is named, all at once.
func TestSettings(t *testing.T) {
	o := DefaultOptions()
	o.Log, o.Deployed, o.Candidate = "s3://bucket/log", "live.bin", "live.bin"
	o.NewOutcomes, o.LeastRows, o.HeldOut, o.Level, o.Losses, o.Promote, o.ReplaceRunning, o.Auto.Folds = 0, 0, 1, 0, []float64{1, 0}, "yes", true, 1
	_, err := Run(t.Context(), o, nil)
	var bad *stage.OptionError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"log: ", "on a local disk", "deployed: ", "ends in .onnx", "candidate: it is the deployed file", "state: it is not given", "new_outcomes: 0", "least_rows: 0", "held_out: 1",
		"level: 0", "losses: [1 0]", `promote: "yes"`, "gate.costs: they are needed", "auto.folds",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	o.ReplaceRunning, o.Gate.Costs = false, []float64{1}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "gate.costs: the smallest and the largest") {
		t.Errorf("%v", err)
	}
}

// No output is a file that a run reads, under any name.
func TestOutputsKeepInputs(t *testing.T) {
	w := newWorld(t, 12)
	w.serve(t, 10)
	if err := os.Symlink(w.path("live.onnx"), w.path("link.onnx")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(w.path("loop"), 0o777), os.Link(w.path("live.onnx"), w.path("loop/previous.onnx"))); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(w.path("other"), stateFile, "log: log"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *Options){
		"the candidate is a link to the deployed file": func(o *Options) { o.Candidate, o.State = config.Path(w.path("link.onnx")), config.Path(w.path("new")) },
		"the copy is a hard link to it":                func(o *Options) {},
		"the state is the configuration":               func(o *Options) { o.State, o.Config = config.Path(w.path("other")), w.Path("other/state.json") },
	} {
		o := w.options()
		change(&o)
		_, err := Run(t.Context(), o, nil)
		var bad *stage.OptionError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "would replace") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files that are none of their kind are errors that name them.
func TestBadFiles(t *testing.T) {
	w := newWorld(t, 9)
	w.serve(t, 10)
	for name, c := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"no log":    {func(o *Options) { o.Log = config.Path(w.path("none")) }, "read decision log"},
		"no policy": {func(o *Options) { o.Deployed = config.Path(w.path("none.onnx")) }, "none.onnx"},
		"no state":  {func(o *Options) { o.State = config.Path(w.path("broken")) }, "is no state of this version"},
	} {
		if err := writeFile(w.path("broken"), stateFile, "{"); err != nil {
			t.Fatal(err)
		}
		o := w.options()
		c.change(&o)
		if _, err := Run(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The page of the loop has every setting and every problem.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/learn.md")
	if err != nil {
		t.Fatal(err)
	}
	s := reflect.TypeFor[Settings]()
	for i := range s.NumField() {
		if key := s.Field(i).Tag.Get("yaml"); !strings.Contains(string(page), "| `"+key+"` |") {
			t.Errorf("docs/learn.md has no row for the setting %q", key)
		}
	}
	for _, name := range []string{FewOutcomes, NoDraws, NoFeatures, Missing, Propensities, Drift, Loggers, Prices, Candidate, OtherPolicy} {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/learn.md has no row for the problem %q", name)
		}
	}
}

// The configuration that is deployed is valid.
func TestDeployed(t *testing.T) {
	for _, name := range []string{"PIPE_LOG", "PIPE_POLICIES", "PIPE_LOOP"} {
		t.Setenv(name, "/x")
	}
	s := DefaultSettings()
	if err := config.Load(t.Context(), storage.File("../../deploy/loop.yaml"), &s); err != nil {
		t.Fatal(err)
	}
	if s.Deployed != "/x/live.onnx" || s.Promote != PromoteFile || s.Since != Span(30*24*time.Hour) || len(s.Gate.Costs) != 2 {
		t.Errorf("%+v", s)
	}
}
