package fit

import (
	"context"
	"fmt"
	"slices"

	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/regress"
)

// countPenalty is that of the ridge regression that estimates how often pairs are executed later.
const countPenalty = 100

// later are the pairs that are executed after one that a state executes next, at a reference, and estimates of how often.
func (l *learner) later(ctx context.Context, executed []int, reference int, e cascade.Encoding) (later []cascade.Later, count estimate.Linear, err error) {
	pairs := l.t.Actions.Len()
	often := make([][]float32, l.t.Len()) // by row: A x A; nil where it is not known
	total := make([]float32, pairs*pairs)
	var rows []int
	for n := range often {
		if often[n] = l.counts(executed, reference, n); often[n] == nil {
			continue
		}
		rows = append(rows, n)
		for at, v := range often[n] {
			total[at] += v
		}
	}
	for at, v := range total {
		if v > 0 {
			later = append(later, cascade.Later{First: at / pairs, Pair: at % pairs})
		}
	}
	if len(later) == 0 {
		return nil, count, nil
	}
	d := &regress.Data{Dim: e.Width(), Pairs: len(later), Mask: slices.Repeat([]bool{true}, len(later)), ExpertFees: make([]float64, len(later)), AdviceFees: []float64{0}}
	columns := len(l.columns) / l.t.Len()
	for _, n := range rows {
		d.X = e.Encode(d.X, l.t.Row(n), l.columns[n*columns:(n+1)*columns])
		for _, of := range later {
			d.Y = append(d.Y, often[n][of.First*pairs+of.Pair])
		}
	}
	count, err = ridge(ctx, d)
	return later, count, err
}

// counts are how often pairs are executed on a row after each that a state executes next: A x A; nil if that is not known.
func (l *learner) counts(executed []int, reference, row int) []float32 {
	pairs := l.t.Actions.Len()
	out := make([]float32, pairs*pairs)
	for b := range pairs {
		if slices.Contains(executed, b) {
			continue
		}
		path, known := l.path(with(executed, b), reference, row)
		if !known {
			return nil
		}
		for _, c := range path {
			out[b*pairs+c] = 1
		}
	}
	return out
}

// ridge estimates what d has by its features, which it standardises.
func ridge(ctx context.Context, d *regress.Data) (out estimate.Linear, err error) {
	raw, every := d.X, make([]int, len(d.X)/d.Dim)
	for n := range every {
		every[n] = n
	}
	std := network.FitStandardizer(raw, d.Dim, every)
	d.X = std.Apply(raw, d.Dim)
	parts, err := regress.Ridge{Penalties: []float64{countPenalty}}.Fit(ctx, d, every, []float64{1})
	if err != nil {
		return out, err
	}
	out = parts[0].Estimator.(estimate.Linear)
	for c := range d.Pairs {
		for i := range d.Dim {
			w := &out.W[c*d.Dim+i]
			*w *= std.Scale[i]
			out.B[c] -= *w * std.Mean[i]
		}
	}
	return out, nil
}

// path are the pairs that are executed on a row from a state on, by what other folds learned; false if that is not known.
func (l *learner) path(executed []int, reference, row int) (pairs []int, known bool) {
	for {
		next := l.action[fmt.Sprint(executed)]
		if next == nil {
			return pairs, true
		}
		switch i := next[reference][row]; {
		case i < 0:
			return nil, false
		case slices.Contains(executed, i):
			return pairs, true
		default:
			pairs, executed = append(pairs, i), with(executed, i)
		}
	}
}
