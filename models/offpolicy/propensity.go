package offpolicy

import (
	"context"
	"errors"
	"fmt"

	"pipe/models/regress"
)

// PropensitySettings are those of [EstimatePropensities].
type PropensitySettings struct {
	// CrossFit estimates the probability of every pair: the regression of what was executed, 0 or 1. regress.Constant
	// serves where the features played no part; else regress.Ridge or
	// regress.Neighbours. regress.Networks does not: its loss also rewards estimates that are right where they decide.
	CrossFit
	Floor float64 // smaller estimates are raised to it: above 0, at most 1 / pairs
}

// Propensities are estimates of the probabilities with which a system executed each pair.
type Propensities struct {
	Logged      []float64     // n x pairs; rows add up to 1
	Calibration []Calibration // whether estimates come true, by ten ranges of them; ranges without estimates are left out
	Raised      int           // estimates that were below the floor
}

// Calibration compares the estimates in a range with what was executed.
type Calibration struct {
	Low      float64 `json:"low"` // estimates from Low to High
	High     float64 `json:"high"`
	Cells    int     `json:"cells"`    // pairs of rows with such an estimate
	Expected float64 `json:"expected"` // their mean estimate
	Observed float64 `json:"observed"` // the share of them that was executed
}

// EstimatePropensities guesses the probabilities of a log that lacks them, from features of the rows and the executed pairs,
// cross-fitted by cluster. What the system knew beyond the features is not in the guess, and calibration cannot show that:
// estimates of costs made with it may be wrong by any amount. Errors are those of executed pairs, features and settings that
// cannot be.
func EstimatePropensities(ctx context.Context, executed []int, pairs int, cluster []int, x Features, s PropensitySettings) (*Propensities, error) {
	out, err := estimatePropensities(ctx, executed, pairs, cluster, x, s)
	if err != nil {
		return nil, fmt.Errorf("estimate propensities: %w", err)
	}
	return out, nil
}

func estimatePropensities(ctx context.Context, executed []int, pairs int, cluster []int, x Features, s PropensitySettings) (*Propensities, error) {
	n := len(executed)
	switch {
	case n == 0 || pairs < 1:
		return nil, errors.New("no rows or no pairs")
	case !(s.Floor > 0 && s.Floor <= 1/float64(pairs)):
		return nil, fmt.Errorf("floor %v is not above 0 and at most 1 / %d", s.Floor, pairs)
	case cluster != nil && len(cluster) != n:
		return nil, &DataError{Column: "cluster", Msg: fmt.Sprintf("%d values for %d rows", len(cluster), n)}
	}
	d, err := indicators(executed, pairs, x)
	if err != nil {
		return nil, err
	}
	folds, err := s.divide(clustersOf(n, cluster))
	if err != nil {
		return nil, err
	}
	estimates, err := s.Family.CrossFit(ctx, d, folds)
	if err != nil {
		return nil, err
	}
	p := &Propensities{Logged: make([]float64, n*pairs)}
	for f, fold := range folds {
		for k, row := range fold.Held {
			p.fill(p.Logged[row*pairs:(row+1)*pairs], estimates[f][0][k*pairs:(k+1)*pairs], s.Floor)
		}
	}
	p.calibrate(d.Y)
	return p, nil
}

// indicators has 1 for the executed pair of every row and 0 for the others.
func indicators(executed []int, pairs int, x Features) (*regress.Data, error) {
	features, err := x.standardised(len(executed), nil)
	if err != nil {
		return nil, err
	}
	d := regressData(features, x.Dim, pairs, len(executed))
	for i, a := range executed {
		if a < 0 || a >= pairs {
			return nil, &DataError{Row: i + 1, Column: "executed", Msg: fmt.Sprintf("pair %d of %d", a, pairs)}
		}
		d.Y[i*pairs+a] = 1
	}
	return d, nil
}

// fill makes probabilities of estimates: at least the floor before they are made to add up to 1.
func (p *Propensities) fill(dst []float64, estimates []float32, floor float64) {
	sum := 0.0
	for a, v := range estimates {
		dst[a] = float64(v)
		if !(dst[a] >= floor) {
			dst[a] = floor
			p.Raised++
		}
		sum += dst[a]
	}
	for a := range dst {
		dst[a] /= sum
	}
}

// calibrate compares the estimates with what was executed, n x pairs of 0 and 1.
func (p *Propensities) calibrate(executed []float32) {
	const ranges = 10
	var all [ranges]Calibration
	for i, v := range p.Logged {
		c := &all[min(ranges-1, int(v*ranges))]
		c.Cells++
		c.Expected += v
		c.Observed += float64(executed[i])
	}
	for k, c := range all {
		if c.Cells > 0 {
			c.Low, c.High = float64(k)/ranges, float64(k+1)/ranges
			c.Expected /= float64(c.Cells)
			c.Observed /= float64(c.Cells)
			p.Calibration = append(p.Calibration, c)
		}
	}
}
