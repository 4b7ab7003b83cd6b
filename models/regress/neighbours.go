package regress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"pipe/internal/seeded"
	"pipe/models/estimate"
	"pipe/onnx/ort"
)

// Neighbours estimates the loss of a pair by its mean over the nearest rows of the fit, by Euclidean distance. Where
// there are fewer rows than neighbours, it takes all of them. A row of half the largest weight is among them with
// probability 1/2, so that the nearest rows are dense where the weights are. A loss that is not known is replaced by the
// mean of the known losses of the pair on the rows nearest to that row.
type Neighbours struct {
	Runtime *ort.Runtime
	K       []int  // numbers of neighbours, at least 1, one member each
	Most    int    // rows that neighbours are among: a sample of those of the fit; 0: all
	Seed    uint64 // of the order of the rows, which decides between rows at the same distance
}

var errNoNeighbours = errors.New("more neighbours than training rows")

// Members implements [Family].
func (f Neighbours) Members() []string {
	out := make([]string, len(f.K))
	for i, k := range f.K {
		out[i] = fmt.Sprintf("%d neighbours", k)
	}
	return out
}

// CrossFit implements [Family].
func (f Neighbours) CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	return crossFit(folds, func(fit, held []int) ([][]float32, error) { return f.Estimates(ctx, d, fit, held) })
}

// Estimates fits every member on the rows fit, and returns its estimates for the rows held: by member, len(held) x
// pairs.
func (f Neighbours) Estimates(ctx context.Context, d *Data, fit, held []int) ([][]float32, error) {
	fit = f.sample(d, fit)
	losses, err := f.losses(ctx, d, fit)
	if err != nil {
		return nil, err
	}
	most := min(slices.Max(f.K), len(fit))
	near, err := nearest(ctx, f.Runtime, pick(d.X, d.Dim, fit), pick(d.X, d.Dim, held), d.Dim, most)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(f.K))
	for m := range out {
		out[m] = make([]float32, len(held)*d.Pairs)
	}
	sum := make([]float64, d.Pairs)
	for n := range held {
		clear(sum)
		for rank, at := range near[n*most : (n+1)*most] {
			for i, v := range losses[int(at)*d.Pairs : (int(at)+1)*d.Pairs] {
				sum[i] += float64(v)
			}
			for m, k := range f.K {
				if rank+1 == min(k, most) {
					scaleInto(out[m][n*d.Pairs:(n+1)*d.Pairs], sum, 1/float64(rank+1))
				}
			}
		}
	}
	return out, nil
}

// sample draws Most of the rows, by weight. They come in random order, so that among rows at the same distance the nearest ones are
// random too: tables are often sorted by what is to be estimated.
func (f Neighbours) sample(d *Data, fit []int) []int {
	out := slices.Clone(fit)
	rng := rand.New(seeded.Source(f.Seed, "regress/neighbours", 0))
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if d.Weight != nil {
		out = thinned(out, d.Weights(out), rand.New(seeded.Source(f.Seed, "regress/neighbours/weights", 0)))
	}
	if f.Most > 0 && len(out) > f.Most {
		out = out[:f.Most]
	}
	return out
}

// thinned keeps each row with the probability of its weight over the largest one.
func thinned(rows []int, weights []float64, rng *rand.Rand) (kept []int) {
	largest := slices.Max(weights)
	for i, n := range rows {
		if rng.Float64()*largest < weights[i] {
			kept = append(kept, n)
		}
	}
	return kept
}

func scaleInto(dst []float32, v []float64, factor float64) {
	for i := range dst {
		dst[i] = float32(v[i] * factor)
	}
}

// Fit implements [Family]: one estimator, whose rows count by rank.
func (f Neighbours) Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	fit = f.sample(d, fit)
	most := 0
	for m, k := range f.K {
		if weights[m] != 0 {
			most = max(most, min(k, len(fit)))
		}
	}
	if most == 0 {
		return nil, nil
	}
	byRank := make([]float32, most)
	for m, k := range f.K {
		k = min(k, len(fit))
		for rank := range k {
			if weights[m] != 0 {
				byRank[rank] += float32(weights[m] / float64(k))
			}
		}
	}
	losses, err := f.losses(ctx, d, fit)
	if err != nil {
		return nil, err
	}
	return []estimate.Part{{Weight: 1, Estimator: &estimate.Neighbours{
		Dim: d.Dim, Rows: pick(d.X, d.Dim, fit), Losses: losses, ByRank: byRank,
	}}}, nil
}
