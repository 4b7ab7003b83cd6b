package regress

import (
	"context"
	"slices"
)

// losses are those of the rows fit, rows x pairs, with a value in place of each that is not known: the mean of the losses
// of the pair on the nearest rows where it is known, as many as the smallest member has neighbours; if none of the rows
// near it is known, the mean over fit.
func (f Neighbours) losses(ctx context.Context, d *Data, fit []int) ([]float32, error) {
	out := pick(d.Y, d.Pairs, fit)
	if d.Known == nil {
		return out, nil
	}
	var partial []int // positions in fit
	for k, n := range fit {
		if len(d.Complete([]int{n})) == 0 {
			partial = append(partial, k)
		}
	}
	if len(partial) == 0 {
		return out, nil
	}
	means, err := d.Means(fit)
	if err != nil {
		return nil, err
	}
	query := make([]int, len(partial))
	for i, k := range partial {
		query[i] = fit[k]
	}
	most := min(slices.Max(f.K), len(fit))
	near, err := nearest(ctx, f.Runtime, pick(d.X, d.Dim, fit), pick(d.X, d.Dim, query), d.Dim, most)
	if err != nil {
		return nil, err
	}
	for i, k := range partial {
		for pair := range d.Pairs {
			if !d.Known[fit[k]*d.Pairs+pair] {
				out[k*d.Pairs+pair] = d.local(fit, near[i*most:(i+1)*most], pair, slices.Min(f.K), means[pair])
			}
		}
	}
	return out, nil
}

// local is the mean loss of a pair on the nearest rows on which it is known; most limits their number. near are positions
// in fit, the nearest first. Without such a row it is otherwise.
func (d *Data) local(fit []int, near []int32, pair, most int, otherwise float64) float32 {
	sum, count := 0.0, 0
	for _, k := range near {
		if n := fit[k]; d.Known[n*d.Pairs+pair] && count < most {
			sum += float64(d.Losses(n)[pair])
			count++
		}
	}
	if count == 0 {
		return float32(otherwise)
	}
	return float32(sum / float64(count))
}
