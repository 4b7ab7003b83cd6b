package offpolicy

import (
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/internal/finite"
	"pipe/internal/seeded"
	"pipe/models/network"
	"pipe/models/regress"
)

// Features are those of the rows of a log, n x Dim, row-major.
type Features struct {
	Values []float32
	Dim    int
}

// CrossFit says who estimates what, and how rows are divided.
type CrossFit struct {
	Family regress.Family // its first member is used
	Folds  int            // at least 2; a row is estimated by a fit on the other folds
	Seed   uint64         // of the order of rows, before they are divided into folds by cluster
}

// standardised are the features of n rows, with a mean of 0 and a spread of 1 over some of them; nil: over all.
func (f Features) standardised(n int, over []int) ([]float32, error) {
	if f.Dim < 1 || len(f.Values) != n*f.Dim {
		return nil, &DataError{Column: "features", Msg: fmt.Sprintf("%d values of %d features for %d rows", len(f.Values), f.Dim, n)}
	}
	if i := finite.First(f.Values); i >= 0 {
		return nil, &DataError{Row: i/f.Dim + 1, Column: fmt.Sprintf("features[%d]", i%f.Dim), Msg: fmt.Sprint(f.Values[i])}
	}
	std := network.FitStandardizer(f.Values, f.Dim, over)
	x := std.Apply(f.Values, f.Dim)
	if i := finite.First(x); i >= 0 {
		return nil, &DataError{Row: i/f.Dim + 1, Column: fmt.Sprintf("features[%d]", i%f.Dim), Msg: "too far from the others"}
	}
	return x, nil
}

// divide deals rows to folds; rows of a cluster stay together.
func (c CrossFit) divide(clusters costs.Clusters) ([]regress.Fold, error) {
	switch {
	case c.Family == nil:
		return nil, errors.New("cross-fitting needs a family of regressors")
	case c.Folds < 2:
		return nil, fmt.Errorf("%d folds, need at least 2", c.Folds)
	case clusters.Len() < 2:
		return nil, errors.New("cross-fitting needs rows of at least 2 clusters")
	}
	n := len(clusters.Of)
	order := seeded.Stream(c.Seed, "offpolicy/folds", 0).Perm(n)
	folds := make([]regress.Fold, min(c.Folds, clusters.Len()))
	of := make([]int, n)
	for i, fold := range clusters.Pick(order).Folds(len(folds)) {
		of[order[i]] = fold
	}
	for n, own := range of {
		for f := range folds {
			if f == own {
				folds[f].Held = append(folds[f].Held, n)
			} else {
				folds[f].Fit = append(folds[f].Fit, n)
			}
		}
	}
	return folds, nil
}

// regressData has standardised features and no losses yet. Pairs are experts without fees.
func regressData(x []float32, dim, pairs, rows int) *regress.Data {
	return &regress.Data{
		X: x, Dim: dim, Y: make([]float32, rows*pairs), Pairs: pairs,
		ExpertFees: make([]float64, pairs), AdviceFees: make([]float64, 1), Mask: slices.Repeat([]bool{true}, pairs),
	}
}
