package offpolicy

import (
	"context"
	"fmt"
	"slices"

	"pipe/models/regress"
)

// FitSettings are those of [FitCosts].
type FitSettings struct {
	CrossFit
	Weighting Weighting // that of the estimator: [Estimator.Fit]
	Clip      float64   // the largest weight of WeightInverse, at least 1
}

// DefaultFitSettings are ridge regression in 5 folds, weighted as an estimator wants it.
func DefaultFitSettings(e Estimator) FitSettings {
	return FitSettings{CrossFit: CrossFit{Family: regress.Ridge{Penalties: []float64{10}}, Folds: 5, Seed: 1}, Weighting: e.Fit, Clip: 20}
}

// FitCosts estimates the cost of every pair on every row, n x Pairs, from the rows of other folds on which the pair was
// executed; [Log.Estimates] is not read. A pair with no row there that counts has the mean of its costs, or, where it was
// never executed, the mean of all. Estimates are kept within the costs that were seen. The same settings give the same
// estimates. Errors are those of [Log.Validate], of features that are not finite, and of settings that cannot be.
func FitCosts(ctx context.Context, l *Log, x Features, s FitSettings) ([]float64, error) {
	own := *l
	own.Estimates = nil
	out, err := own.fitCosts(ctx, x, s)
	if err != nil {
		return nil, fmt.Errorf("fit costs: %w", err)
	}
	return out, nil
}

func (l *Log) fitCosts(ctx context.Context, x Features, s FitSettings) ([]float64, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	f, err := l.newCostFit(x, s, l.everyRow())
	if err != nil {
		return nil, err
	}
	folds, err := s.divide(l.clusters())
	if err != nil {
		return nil, err
	}
	for _, fold := range folds {
		if err := f.fold(ctx, s.Family, fold); err != nil {
			return nil, err
		}
	}
	return f.out, nil
}

// costFit is a fit of the costs in several folds.
type costFit struct {
	*Log
	features []float32
	dim      int
	weights  []float64
	out      []float64 // n x Pairs
}

// newCostFit prepares a fit. Features are standardised, and weights are scaled, by the given rows.
func (l *Log) newCostFit(x Features, s FitSettings, by []int) (*costFit, error) {
	features, err := x.standardised(l.Len(), by)
	if err != nil {
		return nil, err
	}
	weights, err := l.weights(s.Weighting, s.Clip, by)
	if err != nil {
		return nil, err
	}
	return &costFit{l, features, x.Dim, weights, make([]float64, l.Len()*l.Pairs)}, nil
}

// fold estimates the held rows of a fold.
func (f *costFit) fold(ctx context.Context, family regress.Family, fold regress.Fold) error {
	fitted, mean := f.means(fold.Fit)
	low, high := f.seen(fold.Fit)
	for _, n := range fold.Held {
		copy(f.out[n*f.Pairs:], mean)
	}
	if len(fitted) == 0 {
		return nil
	}
	estimates, err := family.CrossFit(ctx, f.data(fitted), []regress.Fold{fold})
	if err != nil {
		return err
	}
	for i, v := range estimates[0][0] {
		n, a := fold.Held[i/len(fitted)], fitted[i%len(fitted)]
		f.out[n*f.Pairs+a] = min(high, max(low, float64(v)))
	}
	return nil
}

// means returns the pairs with a row that counts in a fit, and the mean cost of every pair.
func (f *costFit) means(rows []int) (fitted []int, mean []float64) {
	sum, total, counts := make([]float64, f.Pairs), make([]float64, f.Pairs), make([]bool, f.Pairs)
	all, weight := 0.0, 0.0
	for _, n := range rows {
		a, w := f.Executed[n], f.weight(n)
		sum[a] += w * f.Cost[n]
		total[a] += w
		all += w * f.Cost[n]
		weight += w
		counts[a] = counts[a] || f.weights[n] > 0
	}
	mean = make([]float64, f.Pairs)
	for a := range mean {
		mean[a] = all / weight
		if total[a] > 0 {
			mean[a] = sum[a] / total[a]
		}
		if counts[a] {
			fitted = append(fitted, a)
		}
	}
	return fitted, mean
}

// seen is the range of the costs of rows.
func (f *costFit) seen(rows []int) (low, high float64) {
	low, high = f.Cost[rows[0]], f.Cost[rows[0]]
	for _, n := range rows {
		low, high = min(low, f.Cost[n]), max(high, f.Cost[n])
	}
	return low, high
}

// data has the observed cells of some pairs.
func (f *costFit) data(pairs []int) *regress.Data {
	d := regressData(f.features, f.dim, len(pairs), f.Len())
	d.Weight, d.Known = f.weights, make([]bool, f.Len()*len(pairs))
	for n, a := range f.Executed {
		if at := slices.Index(pairs, a); at >= 0 && f.weights[n] > 0 {
			d.Y[n*len(pairs)+at], d.Known[n*len(pairs)+at] = float32(f.Cost[n]), true
		}
	}
	return d
}
