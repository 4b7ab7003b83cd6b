package regress

import (
	"context"

	"pipe/models/estimate"
)

// Fold is a division of rows: estimates for Held come from fits on Fit.
type Fold struct{ Fit, Held []int }

// Family is a kind of regressor with a few members that share most of their work.
type Family interface {
	// Members names the members, such as "ridge 1000".
	Members() []string
	// CrossFit fits every member on the rows Fit of each fold, and returns its estimates for the rows Held: by fold and
	// member, len(Held) x pairs.
	CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error)
	// Fit fits the sum of the members with the given weights, one each, on the rows fit. Members with weight 0 are left
	// out. Parts that can be one are one.
	Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error)
}

// crossFit is CrossFit of a family whose folds do not depend on each other.
func crossFit(folds []Fold, estimates func(fit, held []int) ([][]float32, error)) ([][][]float32, error) {
	out := make([][][]float32, len(folds))
	for i, f := range folds {
		var err error
		if out[i], err = estimates(f.Fit, f.Held); err != nil {
			return nil, err
		}
	}
	return out, nil
}
