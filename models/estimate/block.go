package estimate

import (
	"fmt"

	"pipe/onnx"
)

// Block is an estimator that sees some of the features: those from From up to To.
type Block struct {
	From, To int
	Estimator
}

// Check implements [Estimator].
func (b Block) Check(dim, pairs int) error {
	if b.From < 0 || b.From >= b.To || b.To > dim {
		return fmt.Errorf("features %d to %d of %d", b.From, b.To, dim)
	}
	return b.Estimator.Check(b.To-b.From, pairs)
}

// Estimate implements [Estimator].
func (b Block) Estimate(dst, x []float64) { b.Estimator.Estimate(dst, x[b.From:b.To]) }

// Graph implements [Estimator].
func (b Block) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	return b.Estimator.Graph(g, g.Slice(x, []int64{int64(b.From)}, []int64{int64(b.To)}, []int64{1}, nil), prefix)
}
