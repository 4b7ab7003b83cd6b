package lightgbm

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// maxLeaves limits pairs x rounds x leaves of [Library.TrainRegressor]. A file of that many leaves has up to 20 MB; 100 trees
// of 15 leaves per pair allow 174 pairs.
const maxLeaves = 1 << 18

// TrainRegressor fits a regression of the target of every pair, by squared error. All pairs share one binning of the
// rows, and are trained one after the other with p.Threads threads. Their draws of columns and rows are the same. Equal
// input gives equal bits, as long as nothing else uses the library with another number of threads at the same time.
//
//	x: rows x dim, row-major; NaN is missing
//	y: rows x pairs, finite as float32
//	weight: rows, finite, more than 0; nil is 1 each
//
// ctx is checked between rounds.
func (l *Library) TrainRegressor(ctx context.Context, x []float32, dim int, y []float64, weight []float32, pairs int, p Params) (*Regressor, error) {
	rows := len(x) / max(1, dim)
	if err := errors.Join(p.CheckRegression(pairs), checkMatrix(x, rows, dim), checkWeights(weight, rows)); err != nil {
		return nil, fmt.Errorf("lightgbm: train: %w", err)
	}
	targets, err := columnsOf(y, rows, pairs)
	if err != nil {
		return nil, fmt.Errorf("lightgbm: train: %w", err)
	}
	texts, err := l.train(ctx, matrix{x, rows, dim}, targets, weight, training{p, Regression}, nil)
	l.giveBack()
	if err != nil {
		return nil, err
	}
	return newRegressor(texts, dim)
}

// CheckRegression reports why [Library.TrainRegressor] would refuse the settings for a number of pairs. It includes the size
// that the trees will have at most.
func (p Params) CheckRegression(pairs int) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if err := between("pairs", pairs, 1, maxLeaves); err != nil {
		return err
	}
	if n := pairs * p.Rounds * p.Leaves; n > maxLeaves {
		return fmt.Errorf("%d pairs x %d rounds x %d leaves are %d leaves: at most %d", pairs, p.Rounds, p.Leaves, n, maxLeaves)
	}
	return nil
}

// columnsOf is the transpose of y, rows x pairs, in LightGBM's float32.
func columnsOf(y []float64, rows, pairs int) ([][]float32, error) {
	if len(y) != rows*pairs {
		return nil, fmt.Errorf("%d targets for %d rows of %d pairs", len(y), rows, pairs)
	}
	out := make([][]float32, pairs)
	for i := range out {
		out[i] = make([]float32, rows)
		for n := range rows {
			v := y[n*pairs+i]
			if !(math.Abs(v) <= math.MaxFloat32) {
				return nil, fmt.Errorf("row %d, pair %d: target %g: must be finite, also as float32", n, i, v)
			}
			out[i][n] = float32(v)
		}
	}
	return out, nil
}

// newRegressor reads a model text per pair.
func newRegressor(texts []string, dim int) (*Regressor, error) {
	r := &Regressor{Dim: dim}
	for i, text := range texts {
		m, err := ParseModel([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
		trees, err := m.nodes()
		if err != nil {
			return nil, fmt.Errorf("lightgbm: pair %d: %w", i, err)
		}
		r.Trees = append(r.Trees, trees)
	}
	if err := r.Check(dim, len(texts)); err != nil {
		return nil, fmt.Errorf("lightgbm: train: %w", err)
	}
	return r, nil
}
