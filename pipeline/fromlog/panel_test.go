package fromlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// panelLog writes n decisions with outcomes. For each of the first half, panels answer with all four pairs. outcome says whether
// the answer of a pair has one.
func panelLog(t *testing.T, n int, outcome func(n, pair int) bool) string {
	t.Helper()
	w, folder := newWorld(5), t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(to.Policy(w.about))
	for i := range n {
		r, o := w.step(i)
		r.Available = []bool{true, true, true, true}
		must(to.Add(r))
		_, err := to.Outcome(o)
		must(err)
		for pair := 0; pair < 4 && i < n/2; pair++ {
			of := *r
			of.ID, of.Source, of.Action, of.Executed, of.Keep = decisionlog.NewPanelID(), decisionlog.SourcePanel, pair, pair, 0.125
			of.Propensity = make([]float64, 4)
			of.Propensity[pair] = 1
			must(to.Add(&of))
			if loss := float64(pair) / 8; outcome(i, pair) {
				_, err := to.Outcome(decisionlog.Outcome{ID: of.ID, Loss: &loss})
				must(err)
			}
		}
	}
	must(to.Close())
	return folder
}

// TestPanel checks that panels make complete rows, whose pair of the caller's own answer is the mean of both outcomes, that their
// records keep the probability with which they were drawn, and that exports and summaries leave them out.
func TestPanel(t *testing.T) {
	const rows = 40
	folder, out := panelLog(t, rows, func(n, pair int) bool { return n != 3 || pair != 2 }), t.TempDir()
	o := DefaultOptions()
	o.Log, o.Out, o.Partial, o.DSJSON = storage.File(folder), storage.File(filepath.Join(out, "c.parquet")), storage.File(filepath.Join(out, "p.parquet")), storage.File(filepath.Join(out, "l.dsjson"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), o.Out, costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]*decisionlog.Record{}
	l, err := decisionlog.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]float64{}
	for d, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		if d.IsPanel() && d.Keep != 0.125 || !d.IsPanel() && d.Keep != 1 {
			t.Fatalf("keep %v of %+v", d.Keep, d.Record)
		}
		if !d.IsPanel() {
			chosen[d.ID] = d.Record
			own[d.ID], _ = d.Outcome.LossOf()
		}
	}
	for n, id := range tensor.IDs {
		c := chosen[id]
		if c == nil {
			t.Fatalf("row %d is %s, which is no decision", n, id)
		}
		for pair := range 4 {
			want := float32(pair) / 8
			if pair == c.Action {
				want = (want + float32(own[id])) / 2
			}
			if got := tensor.Loss[4*n+pair]; got != want {
				t.Errorf("row %d, pair %d: %v, want %v", n, pair, got, want)
			}
		}
	}
	whole := rows/2 - 1
	if chosen[firstOf(chosen, "r3")].Action == 2 { // the caller's own outcome completes the row
		whole++
	}
	if tensor.Len() != whole || r.Complete != whole || r.Panel != 4*rows/2-1 || r.NoOutcome != 1 || r.Instances != rows || r.Unmixed != 0 {
		t.Errorf("%d rows: %+v", tensor.Len(), r)
	}
	text, err := os.ReadFile(o.DSJSON.Path())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != rows || r.Exported != rows {
		t.Errorf("%d exported, %d lines", r.Exported, n)
	}
	s, err := decisionlog.Summarize(folder)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Policies[0]; p.Records != rows || p.Panel != 4*rows/2 || p.Outcomes != rows || p.Keep != 1 {
		t.Errorf("%+v", p)
	}
}

// firstOf is the id of the decision of a request.
func firstOf(all map[string]*decisionlog.Record, request string) string {
	for id, r := range all {
		if r.Request == request {
			return id
		}
	}
	return fmt.Sprintf("no %s", request)
}

// TestPanelAlone checks a log whose only outcomes are those of panels: tensors are made, exports say that there is nothing.
func TestPanelAlone(t *testing.T) {
	w, folder := newWorld(5), t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Policy(w.about); err != nil {
		t.Fatal(err)
	}
	r, _ := w.step(0)
	r.Source, r.ID = decisionlog.SourcePanel, decisionlog.NewPanelID()
	loss := 0.5
	if err := to.Add(r); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Outcome(decisionlog.Outcome{ID: r.ID, Loss: &loss}); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Log, o.DSJSON = storage.File(folder), storage.File(filepath.Join(t.TempDir(), "l.dsjson"))
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1 more are answers of panels") {
		t.Errorf("%v", err)
	}
	o.DSJSON, o.Partial = storage.Location{}, storage.File(filepath.Join(t.TempDir(), "p.parquet"))
	if got, err := Import(t.Context(), o); err != nil || got.Instances != 1 || got.Panel != 1 {
		t.Errorf("%+v: %v", got, err)
	}
}
