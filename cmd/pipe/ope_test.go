package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// writeLogged writes what a system executed on a table: one pair a row, small/none with a probability of 0.55 and each other
// one with 0.15. It writes the folder decisions, a decision log, and logged.parquet, a tensor.
func writeLogged(dir string, actions *costs.Actions) error {
	t := sampleTable(actions, 1600)
	rng := rand.New(rand.NewPCG(1, 2))
	log, err := decisionlog.Open(filepath.Join(dir, "decisions"), decisionlog.DefaultSettings())
	if err != nil {
		return err
	}
	about := decisionlog.PolicyInfo{Name: "live", Digest: "sha256:live", Actions: actions, Lambda: 1, Dim: 2}
	errs := []error{log.Policy(about)}
	t.Propensity = slices.Repeat([]float64{0.55, 0.15, 0.15, 0.15}, t.Len())
	for n := range t.Len() {
		t.Times = append(t.Times, int64(n)*60e6+1767225600e6)
		pair := max(0, int(math.Ceil((rng.Float64()-0.55)/0.15)))
		loss := float64(t.Losses(n)[pair])
		for i := range t.Losses(n) {
			if i != pair {
				t.Losses(n)[i] = float32(math.NaN())
			}
		}
		r := &decisionlog.Record{
			ID: t.IDs[n], Time: t.Times[n], Request: fmt.Sprint(n), Source: "decide", Policy: about.Name, Digest: about.Digest, Lambda: 1,
			ExpertFees: []float64{0.01, 0.05}, AdviceFees: []float64{0, 0.02}, Available: actions.Mask(), Action: pair, Propensity: t.Propensities(n),
			Keep: 1, Executed: pair, Features: t.Row(n),
		}
		if n%50 == 7 {
			r.Executed = (pair + 1) % 4 // a fallback
		}
		errs = append(errs, log.Add(r))
		if n%40 != 3 {
			_, err := log.Outcome(decisionlog.Outcome{ID: r.ID, Time: r.Time + 5e6, Loss: &loss})
			errs = append(errs, err)
		}
	}
	return errors.Join(errors.Join(errs...), log.Close(), costs.Write(context.Background(), storage.File(filepath.Join(dir, "logged.parquet")), t))
}
