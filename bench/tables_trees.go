package bench

import (
	"context"
	"errors"
	"fmt"

	"pipe/models/lightgbm"
	"pipe/models/regress"
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
	if missing, ok := errors.AsType[*lightgbm.MissingLibraryError](err); ok {
		return nil, fmt.Errorf("the LightGBM library was not found; %s", missing.Hint())
	}
	if err != nil {
		return nil, err
	}
	rounds := lightgbm.DefaultRegressionParams(1).Rounds
	return x.decideByMean(ctx, regress.Trees{Library: library, Rounds: []int{rounds}, Seed: x.seed()})
}
