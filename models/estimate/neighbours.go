package estimate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pipe/internal/finite"
	"pipe/onnx"
)

// kindNeighbours is the kind of [Neighbours].
const kindNeighbours = "neighbours"

// Neighbours estimates a loss by a weighted mean over the nearest training rows, by Euclidean distance. On equal
// distances the earlier row is nearer.
type Neighbours struct {
	Dim    int
	Rows   []float32 // n x Dim, standardised
	Losses []float32 // n x pairs
	ByRank []float32 // weight of the nearest row, of the second, ...; their number is that of the neighbours
}

// Mean is the weights by which the k nearest rows count alike.
func Mean(k int) []float32 {
	return slices.Repeat([]float32{1 / float32(k)}, k)
}

// Bytes is the size of the estimator in a file.
func (m *Neighbours) Bytes() int {
	return 4 * (len(m.Rows) + len(m.Losses) + len(m.Rows)/max(1, m.Dim))
}

// Kind implements [Estimator].
func (*Neighbours) Kind() string { return kindNeighbours }

// Check implements [Estimator].
func (m *Neighbours) Check(dim, pairs int) error {
	n := len(m.Rows) / max(1, m.Dim)
	switch {
	case m.Dim != dim || len(m.Rows) != n*dim:
		return fmt.Errorf("%d values in rows of %d features, the policy takes %d", len(m.Rows), m.Dim, dim)
	case len(m.Losses) != n*pairs:
		return fmt.Errorf("%d losses for %d rows of %d pairs", len(m.Losses), n, pairs)
	case len(m.ByRank) < 1 || len(m.ByRank) > n:
		return fmt.Errorf("%d neighbours among %d rows", len(m.ByRank), n)
	case finite.First(m.Rows) >= 0 || finite.First(m.Losses) >= 0 || finite.First(m.ByRank) >= 0:
		return errors.New("a value is not finite")
	case finite.First(m.halfNorms()) >= 0:
		return errors.New("a row is too far from the others for distances in float32")
	}
	return nil
}

// halfNorms returns half the squared norm of every row. Half the squared distance to a query is this norm minus the
// product of the two, up to a term that is the same for all rows.
func (m *Neighbours) halfNorms() []float32 {
	return HalfNorms(m.Rows, m.Dim)
}

// HalfNorms returns half the squared norm of every row, in float32; rows are n x dim.
func HalfNorms(rows []float32, dim int) []float32 {
	norms := make([]float32, len(rows)/dim)
	for t := range norms {
		for _, v := range rows[t*dim : (t+1)*dim] {
			norms[t] += v * v / 2
		}
	}
	return norms
}

// Estimate implements [Estimator].
func (m *Neighbours) Estimate(dst, x []float64) {
	n := len(m.Rows) / m.Dim
	near := make([]float64, n)
	order := make([]int, n)
	for r := range near {
		order[r] = r
		for c, v := range m.Rows[r*m.Dim : (r+1)*m.Dim] {
			d := float64(v) - x[c]
			near[r] += d * d
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(near[a], near[b]) })
	clear(dst)
	for rank, w := range m.ByRank {
		for i, v := range m.Losses[order[rank]*len(dst) : (order[rank]+1)*len(dst)] {
			dst[i] += float64(w) * float64(v)
		}
	}
}

// Graph implements [Estimator]. It needs n + k(pairs + 1) numbers of memory per row for n training rows and k neighbours.
func (m *Neighbours) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	n, k := int64(len(m.Rows)/m.Dim), int64(len(m.ByRank))
	pairs := int64(len(m.Losses)) / n
	rows := g.NamedConst(prefix+"rows", onnx.Float32s([]int64{int64(m.Dim), n}, transposed(m.Rows, m.Dim)))
	norms := g.NamedConst(prefix+"half_norms", onnx.Float32s([]int64{1, n}, m.halfNorms()))
	losses := g.NamedConst(prefix+"losses", onnx.Float32s([]int64{n, pairs}, m.Losses))
	weights := g.NamedConst(prefix+"by_rank", onnx.Float32s([]int64{1, k}, m.ByRank))
	_, near := g.TopK(g.Sub(g.MatMul(x, rows), norms), k, 1, true)
	mean := g.MatMul(weights, g.Gather(losses, near, 0)) // rows x 1 x pairs
	return g.Squeeze(mean, 1)
}

// transposed returns rows, n x dim, as dim x n.
func transposed(rows []float32, dim int) []float32 {
	n := len(rows) / dim
	out := make([]float32, len(rows))
	for r := range n {
		for c := range dim {
			out[c*n+r] = rows[r*dim+c]
		}
	}
	return out
}
