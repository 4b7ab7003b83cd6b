package ope

import (
	"context"
	"slices"

	"pipe/internal/seeded"
	"pipe/models/network"
	"pipe/models/regress"
)

const (
	folds       = 5
	fewOutcomes = 20 // of a pair, from which a model of its cost is fitted; below, the mean of all rows is expected
	penalty     = 0.1
)

// expect fits models of the loss of every pair on the rows Fit of every fold, and returns what they expect of the rows Held,
// with fees: N x A. Rows that no fold holds have 0.
func (r *rows) expect(ctx context.Context, fees []float64, of []regress.Fold) ([]float64, error) {
	d := r.data()
	out := make([]float64, r.len()*r.pairs())
	for _, fold := range of {
		d.Known = r.knownIn(d, fold.Fit)
		part := *d // the caches of fits depend on what is known
		estimates, err := regress.Ridge{Penalties: []float64{penalty}}.CrossFit(ctx, &part, []regress.Fold{fold})
		if err != nil {
			return nil, err
		}
		for i, n := range fold.Held {
			for a, fee := range fees {
				out[n*r.pairs()+a] = float64(estimates[0][0][i*r.pairs()+a]) + fee
			}
		}
	}
	return out, nil
}

// data has the losses of the executed pairs; those of others are the mean of all.
func (r *rows) data() *regress.Data {
	a := r.pairs()
	every := make([]int, r.len())
	mean := 0.0
	for n := range every {
		every[n] = n
		mean += r.loss[n] / float64(r.len())
	}
	std := network.FitStandardizer(r.features, r.dim, every)
	d := &regress.Data{X: std.Apply(r.features, r.dim), Dim: r.dim, Pairs: a, Mask: slices.Repeat([]bool{true}, a)}
	d.Y = slices.Repeat([]float32{float32(mean)}, r.len()*a)
	for n, pair := range r.executed {
		d.Y[n*a+pair] = float32(r.loss[n])
	}
	return d
}

// knownIn says which losses are known: those of executed pairs, and all of a pair with few outcomes among the rows of a fit, of which
// the mean is expected.
func (r *rows) knownIn(d *regress.Data, fit []int) []bool {
	counts, known := make([]int, r.pairs()), make([]bool, len(d.Y))
	for _, n := range fit {
		counts[r.executed[n]]++
	}
	for n, pair := range r.executed {
		for a, count := range counts {
			known[n*r.pairs()+a] = a == pair || count < fewOutcomes
		}
	}
	return known
}

// crossFolds divides the rows, those that were drawn together on one side.
func (r *rows) crossFolds(seed uint64) []regress.Fold {
	together := r.clusters()
	side := make(map[int]int)
	random := seeded.Stream(seed, "off-policy folds", 0)
	out := make([]regress.Fold, min(folds, max(2, r.len())))
	for n := range r.len() {
		c := n
		if together != nil {
			c = together[n]
		}
		k, ok := side[c]
		if !ok {
			k = random.IntN(len(out))
			side[c] = k
		}
		for i := range out {
			if i == k {
				out[i].Held = append(out[i].Held, n)
			} else {
				out[i].Fit = append(out[i].Fit, n)
			}
		}
	}
	return slices.DeleteFunc(out, func(f regress.Fold) bool { return len(f.Held) == 0 || len(f.Fit) == 0 })
}

// pastFolds hold the rows block by block, each with the rows before it. The rows before the first block are in none.
func (r *rows) pastFolds() (out []regress.Fold) {
	every := make([]int, r.len())
	for n := range every {
		every[n] = n
	}
	const first = 64 // rows, from which a fit is worth while
	for from := first; from < r.len(); {
		to := min(r.len(), from+max(first, from/2))
		out = append(out, regress.Fold{Fit: every[:from], Held: every[from:to]})
		from = to
	}
	return out
}
