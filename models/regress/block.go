package regress

import (
	"context"
	"fmt"

	"pipe/models/estimate"
)

// Block is a family that sees some of the features: those from From up to To.
type Block struct {
	Family
	From, To int
}

// Members implements [Family].
func (f Block) Members() []string {
	out := f.Family.Members()
	for i := range out {
		out[i] += fmt.Sprintf(" of features %d to %d", f.From, f.To-1)
	}
	return out
}

// CrossFit implements [Family].
func (f Block) CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	return f.Family.CrossFit(ctx, d.block(f.From, f.To), folds)
}

// Fit implements [Family].
func (f Block) Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	parts, err := f.Family.Fit(ctx, d.block(f.From, f.To), fit, weights)
	for i, p := range parts {
		parts[i].Estimator = estimate.Block{From: f.From, To: f.To, Estimator: p.Estimator}
	}
	return parts, err
}

// block is the data with the features from one up to another. It is kept, with what was computed for it.
func (d *Data) block(from, to int) *Data {
	at := [2]int{from, to}
	if b := d.blocks[at]; b != nil {
		return b
	}
	b := *d
	b.X, b.Dim, b.all, b.blocks = make([]float32, 0, d.Len()*(to-from)), to-from, nil, nil
	for n := range d.Len() {
		b.X = append(b.X, d.Row(n)[from:to]...)
	}
	if d.blocks == nil {
		d.blocks = make(map[[2]int]*Data)
	}
	d.blocks[at] = &b
	return &b
}
