package regress

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/network"
)

// Data is what a family learns from. Rows of fits and of estimates are positions in it.
type Data struct {
	X     []float32 // rows x Dim, standardised
	Dim   int
	Y     []float32 // rows x Pairs: task loss with measured fee; 0 where the pair is unavailable or the loss not known
	Pairs int

	// Weight is how much each row counts: a row of weight 2 counts as two. nil: 1 each.
	Weight []float64
	// Count is by how much more the known losses of a row count than the row, as for rows of a log that are weighted by how probable it was
	// that they are known. Neighbours, which are means of rows at one place, do not use it. nil: 1 each.
	Count []float64
	// Known says which losses are known, rows x Pairs; true for unavailable pairs. nil: all.
	Known []bool

	ExpertFees []float64 // J, fees that networks learn to weigh losses against
	AdviceFees []float64 // K+1; J(K+1) is Pairs
	Mask       []bool    // Pairs, pairs that exist

	all   *moments // of all rows, for pairs with every loss; computed when first needed
	alike [][]int  // pairs whose losses are known on the same rows; computed when first needed

	blocks map[[2]int]*Data // of some of the features; made when first needed
}

// NewData takes the given rows of a tensor, with features standardised by std. All weights are 1.
func NewData(t *costs.Tensor, rows []int, std network.Standardizer) *Data {
	sub := t.Subset(rows)
	d := &Data{X: std.Apply(sub.Features, t.Dim), Dim: t.Dim, Y: sub.Loss, Pairs: t.Actions.Len(), Mask: t.Actions.Mask()}
	for _, e := range t.Actions.Experts {
		d.ExpertFees = append(d.ExpertFees, e.Fee)
	}
	for _, a := range t.Actions.Advice {
		d.AdviceFees = append(d.AdviceFees, a.Fee)
	}
	if sub.UnknownCells() > 0 {
		d.Known = make([]bool, len(d.Y))
		for i, v := range sub.Loss {
			d.Known[i] = v == v || !d.Mask[i%d.Pairs]
		}
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

// Complete are the rows on which every loss is known, in their order.
func (d *Data) Complete(rows []int) []int {
	if d.Known == nil {
		return rows
	}
	var out []int
	for _, n := range rows {
		if !slices.Contains(d.Known[n*d.Pairs:(n+1)*d.Pairs], false) {
			out = append(out, n)
		}
	}
	return out
}

// Weights are those of rows, nil for 1 each.
func (d *Data) Weights(rows []int) []float64 {
	if d.Weight == nil {
		return nil
	}
	out := make([]float64, len(rows))
	for i, n := range rows {
		out[i] = d.Weight[n]
	}
	return out
}

// plain reports whether every loss is known and all rows count alike.
func (d *Data) plain() bool { return d.Weight == nil && d.Count == nil && d.Known == nil }

// cell is how much the loss of a pair on a row counts: 0 if it is not known.
func (d *Data) cell(n, pair int) float64 {
	if d.Known != nil && !d.Known[n*d.Pairs+pair] {
		return 0
	}
	return d.count(n)
}

// count is how much the known losses of a row count.
func (d *Data) count(n int) float64 {
	w := 1.0
	if d.Weight != nil {
		w = d.Weight[n]
	}
	if d.Count != nil {
		w *= d.Count[n]
	}
	return w
}

// counts are those of rows, nil for 1 each.
func (d *Data) counts(rows []int) []float64 {
	if d.Weight == nil && d.Count == nil {
		return nil
	}
	out := make([]float64, len(rows))
	for i, n := range rows {
		out[i] = d.count(n)
	}
	return out
}

// together are the pairs in lists of those whose losses are known on the same rows.
func (d *Data) together() [][]int {
	if d.alike != nil {
		return d.alike
	}
	at := make(map[string]int)
	column := make([]byte, d.Len())
	for i := range d.Pairs {
		for n := range column {
			column[n] = 1
			if d.Known != nil && !d.Known[n*d.Pairs+i] {
				column[n] = 0
			}
		}
		k, ok := at[string(column)]
		if !ok {
			k = len(d.alike)
			at[string(column)] = k
			d.alike = append(d.alike, nil)
		}
		d.alike[k] = append(d.alike[k], i)
	}
	return d.alike
}

// Range is the smallest and the largest known loss of a pair that exists.
func (d *Data) Range() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range d.Y {
		if d.Mask[i%d.Pairs] && (d.Known == nil || d.Known[i]) {
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

// everyRow has the positions of all rows.
func everyRow(d *Data) []int {
	rows := make([]int, d.Len())
	for i := range rows {
		rows[i] = i
	}
	return rows
}
