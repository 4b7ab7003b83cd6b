package regress

import (
	"math"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/network"
)

// Data is what a family learns from. Rows of fits and of estimates are positions in it.
type Data struct {
	X     []float32 // rows x Dim, standardised
	Dim   int
	Y     []float32 // rows x Pairs: task loss with measured fee; 0 where the pair is unavailable
	Pairs int

	ExpertFees []float64 // J, fees that networks learn to weigh losses against
	AdviceFees []float64 // K+1; J(K+1) is Pairs
	Mask       []bool    // Pairs, pairs that exist

	all *moments // of all rows; computed when first needed
}

// NewData takes the given rows of a tensor, with features standardised by std.
func NewData(t *costs.Tensor, rows []int, std network.Standardizer) *Data {
	sub := t.Subset(rows)
	d := &Data{X: std.Apply(sub.Features, t.Dim), Dim: t.Dim, Y: sub.Loss, Pairs: t.Actions.Len(), Mask: t.Actions.Mask()}
	for _, e := range t.Actions.Experts {
		d.ExpertFees = append(d.ExpertFees, e.Fee)
	}
	for _, a := range t.Actions.Advice {
		d.AdviceFees = append(d.AdviceFees, a.Fee)
	}
	for i, v := range d.Y {
		switch {
		case math.IsNaN(float64(v)):
			d.Y[i] = 0
		case sub.Fee != nil:
			d.Y[i] += sub.Fee[i]
		}
	}
	return d
}

// Len is the number of rows.
func (d *Data) Len() int { return len(d.X) / d.Dim }

// Row returns the features of row n.
func (d *Data) Row(n int) []float32 { return d.X[n*d.Dim : (n+1)*d.Dim] }

// Losses returns what is estimated for row n, a value per pair.
func (d *Data) Losses(n int) []float32 { return d.Y[n*d.Pairs : (n+1)*d.Pairs] }

// Range is the smallest and the largest loss of a pair that exists.
func (d *Data) Range() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range d.Y {
		if d.Mask[i%d.Pairs] {
			low, high = min(low, float64(v)), max(high, float64(v))
		}
	}
	return low, high
}

// pick copies rows of x, which has width columns.
func pick(x []float32, width int, rows []int) []float32 {
	out := make([]float32, 0, len(rows)*width)
	for _, n := range rows {
		out = append(out, x[n*width:(n+1)*width]...)
	}
	return out
}

// TooFar returns the first of the standardised rows, n x dim, whose distance from others float32 cannot represent, or
// -1.
func TooFar(x []float32, dim int) int {
	for i, half := range estimate.HalfNorms(x, dim) {
		if !(half < math.MaxFloat32/4) {
			return i
		}
	}
	return -1
}
