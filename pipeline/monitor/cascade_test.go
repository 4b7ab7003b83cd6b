package monitor

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// writtenCascade writes a cascade for the tables of coststest.Looks, with a promised risk of 0.2 if threshold is above 0.
func writtenCascade(t *testing.T, tensor *costs.Tensor, threshold float32) storage.Location {
	t.Helper()
	var m *onnx.Model
	m, err := cascadetest.Looks(tensor, 1).Export()
	if err == nil && threshold > 0 {
		m, err = cascadetest.Guarded(m, threshold)
	}
	path := filepath.Join(t.TempDir(), "cascade.onnx")
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return storage.File(path)
}

// The guarantee of a cascade is watched on tables, which are played, and on decision logs: the mean loss is that of the accepted answers
// alone, and the alarm rises where that is above the promised risk.
func TestGuaranteeOfCascade(t *testing.T) {
	rt := orttest.Open(t, 0)
	tensor := coststest.Looks(2000, 9)
	o := DefaultRunOptions()
	o.Policy, o.Baseline, o.In = writtenCascade(t, tensor, 0.1), storage.File("none.parquet"), storage.File(filepath.Join(t.TempDir(), "new.parquet"))
	d, err := cascade.Open(rt, o.Policy.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows := make([]int, tensor.Len())
	for n := range rows {
		rows[n] = n
	}
	for _, drift := range []bool{false, true} {
		if drift {
			for i := range tensor.Loss {
				tensor.Loss[i] = float32(i / 4 % 3 % 2) // a third is wrong
			}
		}
		tensor.Loss[0], tensor.Loss[2] = float32(math.NaN()), float32(math.NaN()) // not known
		played, err := cascade.Play(t.Context(), d, tensor, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum, count := 0.0, int64(0)
		for n, accepted := range played.Guaranteed {
			if accepted && n > 0 {
				sum, count = sum+played.Loss[n], count+1
			}
		}
		if err := costs.Write(t.Context(), o.In, tensor); err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]storage.Location{"table": o.In, "log": loggedCascade(t, tensor, played)} {
			o := o
			o.In = in
			s, err := Run(t.Context(), o, stage.Quiet)
			if err != nil {
				t.Fatal(err)
			}
			g := s.Guarantee
			if g == nil || g.Accepted != count || math.Abs(*g.Mean-sum/float64(count)) > 1e-9 || (g.Risen > 0) != drift || (s.Verdict == Alarm) != drift || s.New.Rows != 2000 || s.Outcomes.Verdict != Untested {
				t.Errorf("%s, drift %v: %+v %+v, want %d with %g", name, drift, s, g, count, sum/float64(count))
			}
			var text strings.Builder
			if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "promised is at most 0.2") || !strings.Contains(text.String(), "only its guarantee is tested") || strings.Contains(text.String(), "baseline  ") || strings.Contains(text.String(), "Outcomes") {
				t.Errorf("%v\n%s", err, &text)
			}
		}
	}
	var option *stage.OptionError
	o.State = storage.File("state")
	if _, err := Run(t.Context(), o, stage.Quiet); !errors.As(err, &option) {
		t.Error("a state:", err)
	}
	o.State = storage.Location{}
	for want, change := range map[string]policy.PriceChange{
		"the policy has fixed prices":   {Lambda: new(30.0)},
		"guarantee is for other prices": {Without: []policy.Part{policy.Expert("large")}},
		`unknown expert "nobody"`:       {Without: []policy.Part{policy.Expert("nobody")}},
	} {
		o := o
		o.Prices = change
		if _, err := Run(t.Context(), o, stage.Quiet); !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("prices %v: %v", change, err)
		}
	}
	o.Policy = writtenCascade(t, tensor, 0)
	var not *policy.CascadeError
	if _, err := Run(t.Context(), o, stage.Quiet); !errors.As(err, &not) {
		t.Error("a cascade without a guarantee:", err)
	}
}

// loggedCascade is a decision log of what was played, with a decision at another price, one that is not known to be accepted, and one without
// some pairs: these do not count.
func loggedCascade(t *testing.T, tensor *costs.Tensor, p *cascade.Played) storage.Location {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "log")
	w, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	about := decisionlog.PolicyInfo{Name: "stages", Digest: "d1", Lambda: 1, Dim: tensor.Dim, Actions: tensor.Actions}
	if err := w.Policy(about); err != nil {
		t.Fatal(err)
	}
	prices := policy.PricesOf(tensor.Actions, 1)
	add := func(n int, loss float64, change func(*decisionlog.Record)) {
		r := &decisionlog.Record{
			ID: decisionlog.NewID(), Time: int64(n + 1), Request: "r", Source: "chat", Policy: "stages", Digest: "d1", Lambda: 1, ExpertFees: prices.Experts,
			AdviceFees: prices.Advice, Available: prices.Available, Propensity: []float64{1, 0, 0, 0}, Keep: 1, Executed: p.Accepted[n], Accepted: p.Guaranteed[n], AcceptedKnown: true,
			Features: tensor.Row(n), Cascade: []decisionlog.CascadeStage{{Propensity: 1}},
		}
		if !r.Accepted {
			r.Executed, r.Instead, r.Error = -1, policy.Abstain, "abstained"
		}
		change(r)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if loss == loss {
			if _, err := w.Outcome(decisionlog.Outcome{ID: r.ID, Time: int64(10000 + n), Loss: &loss}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range p.Order {
		add(n, p.Loss[n], func(*decisionlog.Record) {})
	}
	add(5, 1, func(r *decisionlog.Record) { r.Lambda = 3 })
	add(5, 1, func(r *decisionlog.Record) { r.AcceptedKnown, r.Accepted = false, false })
	add(5, 1, func(r *decisionlog.Record) { r.Available = []bool{true, true, true, false} })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return storage.File(folder)
}
