package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pipe/models/lightgbm"
	"pipe/pipeline/methods"
)

// byTrees is cost regression by boosted trees, where the LightGBM library is found.
var byTrees = tableMethod{
	name:     methods.BoostedTrees,
	settings: func(*tablesConfig) any { return lightgbm.DefaultRegressionParams(1) },
	decide:   decideByTrees,
}

func decideByTrees(ctx context.Context, x *tableSplit) (*decisions, error) {
	library, err := lightgbm.Open("")
	var missing *lightgbm.MissingLibraryError
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("the LightGBM library was not found; %s", missing.Hint())
	}
	if err != nil {
		return nil, err
	}
	d, err := x.data()
	if err != nil {
		return nil, err
	}
	p := lightgbm.DefaultRegressionParams(d.Dim)
	p.Seed = x.seed() & math.MaxInt32
	var features []float32
	var targets []float64
	for _, n := range x.train {
		features = append(features, d.Row(n)...)
		for _, v := range d.Losses(n) {
			targets = append(targets, float64(v))
		}
	}
	trees, err := library.TrainRegressor(ctx, features, d.Dim, targets, d.Pairs, p)
	if err != nil {
		return nil, err
	}
	losses, row := make([]float64, len(x.held)*d.Pairs), make([]float64, d.Dim)
	for i, n := range x.held {
		for c, v := range d.Row(n) {
			row[c] = float64(v)
		}
		trees.Estimate(losses[i*d.Pairs:(i+1)*d.Pairs], row)
	}
	actions, err := cheapest(x.t.Actions, losses, x.c.Lambda)
	return &decisions{Runs: [][]int{actions}}, err
}
