package regress

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/models/estimate"
	"pipe/models/lightgbm"
	"pipe/onnx"
)

// Trees are boosted trees of every pair, with the settings of [lightgbm.DefaultRegressionParams]. One training serves all
// members: fewer trees are the first ones.
type Trees struct {
	Library *lightgbm.Library
	Rounds  []int  // numbers of trees of a pair, at least 1, one member each
	Seed    uint64 // of the columns that a tree sees; the last 31 bits count
}

// Members implements [Family].
func (f Trees) Members() []string {
	out := make([]string, len(f.Rounds))
	for i, n := range f.Rounds {
		out[i] = fmt.Sprintf("%d trees", n)
	}
	return out
}

// Check reports why trees for a number of pairs cannot be trained, such as their size.
func (f Trees) Check(pairs int) error {
	return f.params(1, slices.Max(f.Rounds)).CheckRegression(pairs)
}

// MostBytes is the largest size of a fit for a number of pairs in a file, in bytes.
func (f Trees) MostBytes(pairs int) int { return f.params(1, slices.Max(f.Rounds)).MostBytes(pairs) }

func (f Trees) params(dim, rounds int) lightgbm.Params {
	p := lightgbm.DefaultRegressionParams(dim)
	p.Rounds, p.Seed = rounds, f.Seed&math.MaxInt32
	return p
}

// CrossFit implements [Family].
func (f Trees) CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	return crossFit(folds, func(fit, held []int) ([][]float32, error) {
		trees, err := f.train(ctx, d, fit, slices.Max(f.Rounds))
		if err != nil {
			return nil, err
		}
		return trees.EstimatesAt(pick(d.X, d.Dim, held), f.Rounds)
	})
}

// Fit implements [Family]: one estimator, in which a tree counts for every member that has it.
func (f Trees) Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	most := 0
	for m, n := range f.Rounds {
		if weights[m] != 0 {
			most = max(most, n)
		}
	}
	if most == 0 {
		return nil, nil
	}
	trees, err := f.train(ctx, d, fit, most)
	if err != nil {
		return nil, err
	}
	return []estimate.Part{{Weight: 1, Estimator: trees.Weighted(f.Rounds, weights)}}, nil
}

// train has a number of trees per pair; those of a pair that does not exist estimate 0. A pair is trained on the rows on
// which its loss is known.
func (f Trees) train(ctx context.Context, d *Data, fit []int, rounds int) (*lightgbm.Regressor, error) {
	if d.Known == nil {
		return f.trainPairs(ctx, d, fit, everyPair(d), rounds)
	}
	out := &lightgbm.Regressor{Dim: d.Dim, Trees: make([][][]onnx.TreeNode, d.Pairs)}
	for _, pairs := range d.together() {
		known := slices.DeleteFunc(slices.Clone(fit), func(n int) bool { return !d.Known[n*d.Pairs+pairs[0]] })
		if len(known) == 0 {
			return nil, errNoLoss(pairs[0])
		}
		own, err := f.trainPairs(ctx, d, known, pairs, rounds)
		if err != nil {
			return nil, err
		}
		for k, pair := range pairs {
			out.Trees[pair] = own.Trees[k]
		}
	}
	return out, nil
}

func everyPair(d *Data) []int {
	pairs := make([]int, d.Pairs)
	for i := range pairs {
		pairs[i] = i
	}
	return pairs
}

// trainPairs trains some pairs on rows on which all of them are known.
func (f Trees) trainPairs(ctx context.Context, d *Data, rows, pairs []int, rounds int) (*lightgbm.Regressor, error) {
	targets := make([]float64, 0, len(rows)*len(pairs))
	for _, n := range rows {
		losses := d.Losses(n)
		for _, pair := range pairs {
			targets = append(targets, float64(losses[pair]))
		}
	}
	var weights []float32
	for _, w := range d.counts(rows) {
		weights = append(weights, float32(w))
	}
	return f.Library.TrainRegressor(ctx, pick(d.X, d.Dim, rows), d.Dim, targets, weights, len(pairs), f.params(d.Dim, rounds))
}
