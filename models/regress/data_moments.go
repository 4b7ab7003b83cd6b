package regress

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// moments are sums over rows, from which ridge regression follows.
type moments struct {
	rows float64       // number of rows, or the sum of their weights
	x, y []float64     // sums of features and of losses
	xx   *mat.SymDense // dim x dim
	xy   *mat.Dense    // dim x pairs
}

// momentRows is the number of rows that are summed at a time.
const momentRows = 2048

func newMoments(d *Data, rows []int) *moments {
	m := &moments{
		rows: float64(len(rows)), x: make([]float64, d.Dim), y: make([]float64, d.Pairs),
		xx: mat.NewSymDense(d.Dim, nil), xy: mat.NewDense(d.Dim, d.Pairs, nil),
	}
	for chunk := range slices.Chunk(rows, momentRows) {
		x, y := mat.NewDense(len(chunk), d.Dim, nil), mat.NewDense(len(chunk), d.Pairs, nil)
		for n, row := range chunk {
			addTo(m.x, x.RawRowView(n), d.Row(row))
			addTo(m.y, y.RawRowView(n), d.Losses(row))
		}
		m.add(x, x, y)
	}
	return m
}

// addTo copies v to dst and adds it to sum.
func addTo(sum, dst []float64, v []float32) {
	for i, f := range v {
		dst[i] = float64(f)
		sum[i] += float64(f)
	}
}

// newWeighted are the moments of some pairs whose losses are known on the same rows; rows count by their weights.
func newWeighted(d *Data, rows, pairs []int) *moments {
	m := &moments{
		x: make([]float64, d.Dim), y: make([]float64, len(pairs)),
		xx: mat.NewSymDense(d.Dim, nil), xy: mat.NewDense(d.Dim, len(pairs), nil),
	}
	var known []int
	for _, n := range rows {
		if d.cell(n, pairs[0]) > 0 {
			known = append(known, n)
		}
	}
	for chunk := range slices.Chunk(known, momentRows) {
		x, weighted := mat.NewDense(len(chunk), d.Dim, nil), mat.NewDense(len(chunk), d.Dim, nil)
		y := mat.NewDense(len(chunk), len(pairs), nil)
		for k, row := range chunk {
			w, losses := d.cell(row, pairs[0]), d.Losses(row)
			m.rows += w
			for c, v := range d.Row(row) {
				x.Set(k, c, float64(v))
				weighted.Set(k, c, w*float64(v))
				m.x[c] += w * float64(v)
			}
			for i, pair := range pairs {
				y.Set(k, i, float64(losses[pair]))
				m.y[i] += w * float64(losses[pair])
			}
		}
		m.add(weighted, x, y)
	}
	return m
}

// add adds the products of weighted rows with themselves and with the losses.
func (m *moments) add(weighted, x, y *mat.Dense) {
	var xx, xy mat.Dense
	xx.Mul(weighted.T(), x)
	xy.Mul(weighted.T(), y)
	m.xy.Add(m.xy, &xy)
	for i := range len(m.x) {
		for j := i; j < len(m.x); j++ {
			m.xx.SetSym(i, j, m.xx.At(i, j)+xx.At(i, j))
		}
	}
}

// less returns the moments without those of other rows.
func (m *moments) less(o *moments) *moments {
	out := &moments{rows: m.rows - o.rows, x: slices.Clone(m.x), y: slices.Clone(m.y), xx: mat.NewSymDense(len(m.x), nil), xy: new(mat.Dense)}
	for i, v := range o.x {
		out.x[i] -= v
		for j := i; j < len(o.x); j++ {
			out.xx.SetSym(i, j, m.xx.At(i, j)-o.xx.At(i, j))
		}
	}
	for i, v := range o.y {
		out.y[i] -= v
	}
	out.xy.Sub(m.xy, o.xy)
	return out
}

// moments returns the sums over rows. For most of the rows, those of the others are taken from the sums over all, which
// are kept: folds share them.
func (d *Data) moments(rows []int) *moments {
	if 2*len(rows) < d.Len() {
		return newMoments(d, rows)
	}
	if d.all == nil {
		d.all = newMoments(d, everyRow(d))
	}
	used := make([]bool, d.Len())
	for _, n := range rows {
		used[n] = true
	}
	var others []int
	for n, u := range used {
		if !u {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return d.all
	}
	return d.all.less(newMoments(d, others))
}
