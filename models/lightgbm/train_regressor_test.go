package lightgbm

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTrainRegressorErrors(t *testing.T) {
	l := testLibrary(t)
	good := regressionParams(2)
	x, y := make([]float32, 20), make([]float64, 30) // 10 rows of 2 features, 3 pairs
	change := func(f func(p *Params)) Params {
		p := good
		f(&p)
		return p
	}
	with := func(v float64) []float64 {
		out := slices.Clone(y)
		out[7] = v
		return out
	}
	for want, c := range map[string]struct {
		x          []float32
		dim, pairs int
		y          []float64
		p          Params
	}{
		"leaves is 1":                       {x, 2, 3, y, change(func(p *Params) { p.Leaves = 1 })},
		"19 values for a matrix of 9 x 2":   {x[1:], 2, 3, y, good},
		"a matrix of 20 x 0":                {x, 0, 3, y, good},
		"a matrix of 20 x -1":               {x, -1, 3, y, good},
		"a matrix of 0 x 2":                 {nil, 2, 3, nil, good},
		"pairs is 0":                        {x, 2, 0, nil, good},
		"29 targets for 10 rows of 3 pairs": {x, 2, 3, y[1:], good},
		"row 2, pair 1: target NaN":         {x, 2, 3, with(math.NaN()), good},
		"row 2, pair 1: target -Inf":        {x, 2, 3, with(math.Inf(-1)), good},
		"row 2, pair 1: target 1e+39":       {x, 2, 3, with(1e39), good},
		"3 pairs x 100000 rounds x 15 leaves are 4500000 leaves: at most 262144": {x, 2, 3, y, change(func(p *Params) { p.Rounds = 100_000 })},
	} {
		_, err := l.TrainRegressor(t.Context(), c.x, c.dim, c.y, nil, c.pairs, c.p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestTrainRegressorHuge: targets at the ends of float32 have finite estimates.
func TestTrainRegressorHuge(t *testing.T) {
	s := targets{matrix: filled(40, 1, func(row, _ int) float32 { return float32(row) }), pairs: 1}
	for n := range s.rows {
		s.y = append(s.y, math.MaxFloat32*float64(1-2*(n%2)))
	}
	for i, v := range trainRegressor(t, s, regressionParams(1)).reference(s.matrix) {
		if !(math.Abs(v) <= math.MaxFloat32) {
			t.Errorf("row %d: %g", i, v)
		}
	}
}

// TestTrainRegressorAtOnce: trainings at the same time do not change each other.
func TestTrainRegressorAtOnce(t *testing.T) {
	s := regressionCases()["mixed"]
	p := regressionParams(s.cols)
	want := trainRegressor(t, s, p)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			got, err := testLibrary(t).TrainRegressor(t.Context(), s.x, s.cols, s.y, nil, s.pairs, p)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("differs, error %v", err)
			}
		})
	}
	wg.Wait()
}

func TestTrainRegressorCancel(t *testing.T) {
	l := testLibrary(t)
	s := regressionCases()["normal"]
	p := regressionParams(s.cols)
	p.Rounds = 5000
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.TrainRegressor(ctx, s.x, s.cols, s.y, nil, s.pairs, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}
