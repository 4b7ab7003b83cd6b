package auto

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// moments are the products of members' estimates with each other and with the losses, summed over held-out rows. What
// enters are differences from the mean over the pairs of a row, since only differences between pairs decide.
type moments struct {
	each    *mat.SymDense // members x members
	loss    []float64     // members
	squares float64       // of the losses
	cells   float64       // rows, or the sum of their weights, times pairs
}

func newMoments(t *table, estimates [][]float32, rows span) *moments {
	m := len(estimates)
	out := &moments{each: mat.NewSymDense(m, nil), loss: make([]float64, m)}
	pairs := t.data.Pairs
	exists := 0
	for _, ok := range t.data.Mask {
		if ok {
			exists++
		}
	}
	for n := rows.from; n < rows.to; n++ {
		out.cells += t.weight(n) * float64(exists)
	}
	chunk := min(1024, rows.to-rows.from)
	x, y := mat.NewDense(max(1, chunk*exists), m, nil), mat.NewVecDense(max(1, chunk*exists), nil)
	var xx mat.Dense
	var xy mat.VecDense
	for from := rows.from; from < rows.to; from += chunk {
		n := min(chunk, rows.to-from)
		x, y := x.Slice(0, n*exists, 0, m).(*mat.Dense), y.SliceVec(0, n*exists).(*mat.VecDense)
		for i := range n {
			at, scale := (from+i)*pairs, math.Sqrt(t.weight(from+i))
			for c, e := range estimates {
				centre(e[at:at+pairs], t.data.Mask, func(k int, v float64) { x.Set(i*exists+k, c, scale*v) })
			}
			centre(t.outcomes(from+i), t.data.Mask, func(k int, v float64) {
				v *= scale
				y.SetVec(i*exists+k, v)
				out.squares += v * v
			})
		}
		xx.Reset()
		xy.Reset()
		xx.Mul(x.T(), x)
		xy.MulVec(x.T(), y)
		for i := range m {
			out.loss[i] += xy.AtVec(i)
			for j := i; j < m; j++ {
				out.each.SetSym(i, j, out.each.At(i, j)+xx.At(i, j))
			}
		}
	}
	return out
}

// centre calls set for the pairs that exist, with the difference from their mean.
func centre(v []float32, mask []bool, set func(k int, v float64)) {
	sum, n := 0.0, 0
	for i, ok := range mask {
		if ok {
			sum += float64(v[i])
			n++
		}
	}
	k := 0
	for i, ok := range mask {
		if ok {
			set(k, float64(v[i])-sum/float64(n))
			k++
		}
	}
}

// plus returns m + factor o.
func (m *moments) plus(o *moments, factor float64) *moments {
	n := len(m.loss)
	out := &moments{
		each: mat.NewSymDense(n, nil), loss: slices.Clone(m.loss),
		squares: m.squares + factor*o.squares, cells: m.cells + factor*o.cells,
	}
	for i := range n {
		out.loss[i] += factor * o.loss[i]
		for j := i; j < n; j++ {
			out.each.SetSym(i, j, m.each.At(i, j)+factor*o.each.At(i, j))
		}
	}
	return out
}

// error is the squared error of a blend.
func (m *moments) error(w []float64) float64 {
	e := m.squares
	for i, a := range w {
		e -= 2 * a * m.loss[i]
		for j, b := range w {
			e += a * b * m.each.At(i, j)
		}
	}
	return e
}

// blendSpread is the standard deviation of a weight around the equal one before any row was seen. On small tables, where
// members are alike up to noise, weights stay near equal ones.
const blendSpread = 0.3

// towards adds the prior of weights: normal around w, in units of the squared error.
func (m *moments) towards(w []float64) *moments {
	out := m.plus(&moments{each: mat.NewSymDense(len(w), nil), loss: make([]float64, len(w))}, 1)
	strength := max(0, m.error(w)) / m.cells / (blendSpread * blendSpread)
	for i, v := range w {
		out.loss[i] += strength * v
		out.each.SetSym(i, i, out.each.At(i, i)+strength)
	}
	return out
}

// leastWeight is the smallest weight of a member of a blend.
const leastWeight = 0.01

// weights are those of the blend of the allowed members with the smallest squared error: not negative, with the sum 1.
// Members with less than leastWeight are left out.
func (m *moments) weights(allowed []bool) []float64 {
	w := m.leastSquares(allowed)
	least, kept := min(leastWeight, slices.Max(w)), make([]bool, len(w))
	for i, v := range w {
		kept[i] = v >= least
	}
	return m.leastSquares(kept)
}

// leastSquares moves weight between two members at a time, from the one with the largest slope to the one with the
// smallest, by the best amount.
func (m *moments) leastSquares(allowed []bool) []float64 {
	n := len(m.loss)
	w := make([]float64, n)
	w[slices.Index(allowed, true)] = 1
	slope := make([]float64, n)
	scale := 1e-300
	for i := range n {
		scale = max(scale, m.each.At(i, i), math.Abs(m.loss[i]))
	}
	for range 100_000 {
		from, to := -1, -1
		for i := range n {
			if !allowed[i] {
				continue
			}
			slope[i] = -m.loss[i]
			for j, v := range w {
				slope[i] += m.each.At(i, j) * v
			}
			if to < 0 || slope[i] < slope[to] {
				to = i
			}
			if w[i] > 0 && (from < 0 || slope[i] > slope[from]) {
				from = i
			}
		}
		if slope[from]-slope[to] <= 1e-9*scale {
			break
		}
		step := w[from]
		if curve := m.each.At(from, from) + m.each.At(to, to) - 2*m.each.At(from, to); curve > 0 {
			step = min(step, (slope[from]-slope[to])/curve)
		}
		w[to] += step
		w[from] -= step
		if w[from] < 1e-12 {
			w[from] = 0
		}
	}
	return w
}

// blended is the weighted sum of estimates.
func blended(estimates [][]float32, weights []float64) []float32 {
	out := make([]float32, len(estimates[0]))
	for m, e := range estimates {
		if w := float32(weights[m]); w != 0 {
			for i, v := range e {
				out[i] += w * v
			}
		}
	}
	return out
}
