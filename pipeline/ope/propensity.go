package ope

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/models/offpolicy"
	"pipe/models/regress"
)

// estimatePropensities replaces all propensities by estimates from the features, by ridge regressions that are cross-fitted. Their squared loss is
// least at the probability; networks of costs have a loss that rewards good choices, and give no probabilities.
func (r *rows) estimatePropensities(ctx context.Context, seed uint64) ([]offpolicy.Calibration, error) {
	x := offpolicy.Features{Values: r.features, Dim: r.dim}
	family := regress.Ridge{Penalties: []float64{10}}
	const floor = 0.01 // as an estimate, a smaller one makes weights that only look exact
	s := offpolicy.PropensitySettings{CrossFit: offpolicy.CrossFit{Family: family, Folds: 5, Seed: seed}, Floor: min(floor, 1/float64(r.pairs()))}
	p, err := offpolicy.EstimatePropensities(ctx, r.executed, r.pairs(), r.clusters(), x, s)
	if err != nil {
		return nil, &costs.DataError{File: r.file, Err: err}
	}
	r.logged = p.Logged
	return p.Calibration, nil
}

// guessed says that propensities are estimates, and how far they come true.
func guessed(bins []offpolicy.Calibration) string {
	text := "PROPENSITIES ARE GUESSED from the features: if anything else decided what was executed, all figures here are wrong, and nothing can show it. Estimated and executed shares:"
	for _, b := range bins {
		text += fmt.Sprintf(" %.2f/%.2f (%d),", b.Expected, b.Observed, b.Cells)
	}
	return text[:len(text)-1] + "."
}
