package fromlog

import (
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// cascadeLog writes n decisions with outcomes, of which every other one is of a cascade; all of them with all.
func cascadeLog(t *testing.T, n int, all bool) storage.Location {
	t.Helper()
	w, folder := newWorld(5), t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	must(to.Policy(w.about))
	for i := range n {
		r, o := w.step(i)
		if all || i%2 == 0 {
			r.Cascade = []decisionlog.CascadeStage{{Action: r.Action, Propensity: 1}, {Action: 0, Propensity: 1}}
			r.Executed = 0
		}
		must(to.Add(r))
		_, err := to.Outcome(o)
		must(err)
	}
	must(to.Close())
	return storage.File(folder)
}

// TestCascadesAreLeftOut: the outcome of a cascade is of an answer that was chosen after it was looked at. Tensors and exports leave
// it out, say how many, and a log of nothing else says so.
func TestCascadesAreLeftOut(t *testing.T) {
	const rows = 40
	out := t.TempDir()
	o := DefaultOptions()
	o.Log, o.Partial, o.DSJSON = cascadeLog(t, rows, false), storage.File(filepath.Join(out, "p.parquet")), storage.File(filepath.Join(out, "l.dsjson"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Cascades != rows/2 || r.Exported != rows/2 || r.Instances != rows/2 || r.Fallbacks != 0 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "20 decisions of cascades") {
		t.Errorf("%v: %s", err, &text)
	}
	s, err := decisionlog.Summarize(o.Log.String())
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Policies[0]; p.Records != rows || p.Cascades != rows/2 || p.Asked != rows || p.Losses != rows/2 || p.Fallbacks != 0 {
		t.Errorf("%+v", p)
	}
	o.Log = cascadeLog(t, rows, true)
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cascades") {
		t.Errorf("a log of cascades alone: %v", err)
	}
}
