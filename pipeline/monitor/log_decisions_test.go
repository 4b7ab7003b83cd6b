package monitor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// A decision log is the same as a table with the columns of a log. Decisions of policies with other pairs are left out.
func TestDecisionLog(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	rows := logOf(t, m, world(rand.New(rand.NewPCG(8, 8)), l.actions, 700, 0.2, 0.1))
	want := statusOf(t, l, writeLogs(t, rows)["log.parquet"])
	folder := t.TempDir()
	w, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	a := l.actions
	for _, p := range []decisionlog.PolicyInfo{
		{Name: "ours", Digest: "sha256:1", Actions: a, Dim: 3}, {Name: "wide", Digest: "sha256:2", Actions: a, Dim: 4},
	} {
		if err := w.Policy(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		r := &decisionlog.Record{
			Time: row.Time, ID: row.ID, Policy: "ours", Digest: "sha256:1", ExpertFees: make([]float64, len(a.Experts)), AdviceFees: make([]float64, len(a.Advice)),
			Available: a.Mask(), Features: row.Features, Propensity: make([]float64, a.Len()), Executed: -1, Error: "every expert failed",
		}
		if row.Expert != nil {
			r.Action, r.Error = a.Index(a.ExpertIndex(*row.Expert), a.AdviceIndex(*row.Advice)), ""
		}
		r.Greedy, r.Propensity[r.Action] = r.Action, 1
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if row.Loss != nil {
			if _, err := w.Outcome(decisionlog.Outcome{ID: row.ID, Loss: row.Loss}); err != nil {
				t.Fatal(err)
			}
		}
		fixed := *r // a conversation that no policy decided on
		fixed.ID, fixed.Source, fixed.Features = "fixed "+row.ID, decisionlog.SourceFixed, nil
		if err := w.Add(&fixed); err != nil {
			t.Fatal(err)
		}
		panel := *r // an answer that nobody saw
		panel.ID, panel.Source, panel.Keep = decisionlog.NewPanelID(), decisionlog.SourcePanel, 0.1
		if err := w.Add(&panel); err != nil {
			t.Fatal(err)
		}
		looked := *r // an answer that was accepted after it was looked at
		looked.ID, looked.Cascade = "cascade "+row.ID, []decisionlog.CascadeStage{{Action: r.Action, Propensity: 1}}
		if err := w.Add(&looked); err != nil {
			t.Fatal(err)
		}
		r.ID, r.Digest, r.Features = "other "+row.ID, "sha256:2", []float32{1, 2, 3, 4}
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := statusOf(t, l, folder)
	got.New.File, got.Inputs.MMD.MMD, got.Inputs.MMD.P = want.New.File, want.Inputs.MMD.MMD, want.Inputs.MMD.P
	if diff := cmp.Diff(want, got); diff != "" || got.Outcomes.Known == 0 {
		t.Error(diff)
	}

	if _, err := m.continueFrom(t.Context(), RunOptions{In: storage.File(folder), State: storage.File(t.TempDir() + "/state")}); err == nil || !strings.Contains(err.Error(), "leave --state out") {
		t.Errorf("with a state: %v", err)
	}

	for want, change := range map[string]func(s *decisionlog.Settings, r *decisionlog.Record){
		"setting features: full":              func(s *decisionlog.Settings, _ *decisionlog.Record) { s.Features = decisionlog.DigestFeatures },
		"features; it has decisions of \"p\"": func(_ *decisionlog.Settings, r *decisionlog.Record) { r.Digest = "sha256:2" },
		"features; it has 1 decisions of cascades, from which nothing can be estimated": func(_ *decisionlog.Settings, r *decisionlog.Record) {
			r.Cascade = []decisionlog.CascadeStage{{Propensity: 1}}
		},
	} {
		s, folder := decisionlog.DefaultSettings(), t.TempDir()
		r := &decisionlog.Record{
			ID: "a", Digest: "sha256:1", ExpertFees: make([]float64, len(a.Experts)), AdviceFees: make([]float64, len(a.Advice)),
			Available: a.Mask(), Propensity: make([]float64, a.Len()), Executed: -1,
		}
		change(&s, r)
		w, err := decisionlog.Open(folder, s)
		if err != nil {
			t.Fatal(err)
		}
		p := decisionlog.PolicyInfo{Name: "p", Digest: r.Digest, Actions: a, Dim: 3 + int(r.Digest[len(r.Digest)-1]-'1')}
		r.Features, r.Propensity[0] = make([]float32, p.Dim), 1
		if err := w.Policy(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		m := l.open(t, DefaultOptions())
		if err := m.addFile(t.Context(), storage.File(folder), nil, quiet{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
