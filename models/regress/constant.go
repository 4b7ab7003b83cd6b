package regress

import (
	"context"
	"errors"
	"fmt"

	"pipe/models/estimate"
)

// Constant estimates the loss of a pair by its mean over the rows of the fit.
type Constant struct{}

// Members implements [Family].
func (Constant) Members() []string { return []string{"constant"} }

// CrossFit implements [Family].
func (f Constant) CrossFit(_ context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	return crossFit(folds, func(fit, held []int) ([][]float32, error) {
		mean, err := d.Means(fit)
		if err != nil {
			return nil, err
		}
		out := make([]float32, len(held)*d.Pairs)
		for i := range out {
			out[i] = float32(mean[i%d.Pairs])
		}
		return [][]float32{out}, nil
	})
}

// Fit implements [Family].
func (f Constant) Fit(_ context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	mean, err := d.Means(fit)
	if err != nil || weights[0] == 0 {
		return nil, err
	}
	return []estimate.Part{{Weight: weights[0], Estimator: estimate.NewConstant(mean, d.Dim)}}, nil
}

// Means are the mean losses of every pair over the rows on which they are known, Pairs values; 0 where the pair is
// unavailable. No rows are an error, and so is a pair without a known loss.
func (d *Data) Means(rows []int) ([]float64, error) {
	if len(rows) == 0 {
		return nil, errors.New("the mean loss of no rows")
	}
	mean := make([]float64, d.Pairs)
	if d.plain() {
		for _, n := range rows {
			for i, v := range d.Losses(n) {
				mean[i] += float64(v) / float64(len(rows))
			}
		}
		return mean, nil
	}
	total := make([]float64, d.Pairs)
	for _, n := range rows {
		for i, v := range d.Losses(n) {
			w := d.cell(n, i)
			mean[i] += w * float64(v)
			total[i] += w
		}
	}
	for i := range mean {
		if total[i] == 0 {
			return nil, errNoLoss(i)
		}
		mean[i] /= total[i]
	}
	return mean, nil
}

func errNoLoss(pair int) error {
	return fmt.Errorf("no loss of pair %d is known on the rows of a fit", pair)
}
