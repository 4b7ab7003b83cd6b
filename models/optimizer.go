package models

import "pipe/onnx"

// slot is one parameter's state in the graph, each [S, rows, cols]: the value
// and the raw sums of AdamW's moments.
type slot struct{ p, m, v *onnx.Value }

// stepScalars are the optimiser's inputs for one step, each [S, 1, 1].
type stepScalars struct {
	alpha, eps *onnx.Value // see adamScalars
	decay      *onnx.Value // 1 - rate*weight decay; nil if no model has weight decay
	slope      *onnx.Value // 1 - tau; nil when it does not change between steps
}

// adamW advances every slot by one clipped AdamW step and returns the new slots and the new scale.
//
// Most of the time of a small network's step is spent reading and writing these vectors, so the clipping factor is
// never applied to them. Gradients arrive multiplied by the loss scale f; the clipped gradient is scale*grad with
//
//	scale = min(1/f, clip/(|grad| + 1e-6 f)),
//
// and the sums are stored divided by the scale of the step that wrote them: M by scale, V by its square. AdamW's update
// is unchanged if eps is divided too. A new step rescales the sums by one number per model.
func adamW(g *onnx.Graph, slots []slot, grads []*onnx.Value, s stepScalars, scale, lossScale *onnx.Value, clip float64) ([]slot, *onnx.Value) {
	f := func(v float64) *onnx.Value { return g.Scalar(onnx.Float32, v) }
	squares := make([]*onnx.Value, len(grads))
	var total *onnx.Value
	for i, d := range grads {
		squares[i] = g.Mul(d, d)
		sum := g.ReduceSum(squares[i], true, 1, 2)
		if total == nil {
			total = sum
		} else {
			total = g.Add(total, sum)
		}
	}
	var next *onnx.Value
	if lossScale == nil {
		next = g.Min(g.Div(f(clip), g.Add(g.Sqrt(total), f(1e-6))), f(1))
	} else {
		next = g.Min(g.Div(f(clip), g.Add(g.Sqrt(total), g.Mul(lossScale, f(1e-6)))), g.Reciprocal(lossScale))
	}
	ratio := g.Div(scale, next)
	keepM := g.Mul(ratio, f(adamBeta1))
	keepV := g.Mul(g.Mul(ratio, ratio), f(adamBeta2))
	eps := g.Div(s.eps, next)
	out := make([]slot, len(slots))
	for i, old := range slots {
		m := g.Add(g.Mul(old.m, keepM), grads[i])
		v := g.Add(g.Mul(old.v, keepV), squares[i])
		p := old.p
		if s.decay != nil {
			p = g.Mul(p, s.decay)
		}
		p = g.Sub(p, g.Div(g.Mul(m, s.alpha), g.Add(g.Sqrt(v), eps)))
		out[i] = slot{p, m, v}
	}
	return out, next
}
