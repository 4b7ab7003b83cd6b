package models

import (
	"pipe/models/policy"
	"pipe/onnx"
)

const (
	// maskedScore is added to the score of an action that is not allowed.
	// exp of it is 0 in float32 next to any score that training produces.
	maskedScore = -1e9
	// phiCap bounds (1-tau)(-log p): beyond it exp overflows float32, so the loss is constant there and has no
	// gradient.
	phiCap = 80
	// phiSeries is |(1-tau)(-log p)| below which expm1(u)/u is its Taylor
	// polynomial; at the edge both forms agree to float32 precision.
	phiSeries = 0.1
	// slopeZero is |1-tau| below which only the series is used: no -log p that
	// float32 scores produce takes u beyond phiSeries.
	slopeZero = 1e-7
)

// compSum is the augmented surrogate of the paper "Consistent
// Learning-to-Defer with Expert-Conditional Advice": sum_i w_i Phi_tau(s, i)
// with w_i = max_i' c_i' - c_i over the allowed actions. With only the pairs
// (j, 0) allowed it is the L2D surrogate.
type compSum struct{}

func (compSum) Name() string                             { return "comp_sum" }
func (compSum) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (compSum) Masks() bool                              { return true }
func (compSum) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (compSum) Loss(g *onnx.Graph, b Batch) *onnx.Value {
	c := b.Costs(g)
	if b.Allowed == nil {
		w := g.Sub(g.ReduceMax(c, true, 1), c)
		return weightedPhi(g, b, g.Mul(g.StopGradient(w), b.Coef))
	}
	one, off := b.MaskConst(g, 1, 0), b.MaskConst(g, 0, maskedScore)
	w := g.Mul(g.Sub(g.ReduceMax(g.Add(c, off), true, 1), c), one)
	return weightedPhi(g, b, g.Mul(g.StopGradient(w), b.Coef))
}

// weighted uses the target itself as the weights: weighted cross entropy for classes at tau = 1, and other members of
// the comp-sum family for other tau.
type weighted struct{}

func (weighted) Name() string                             { return "weighted" }
func (weighted) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (weighted) Masks() bool                              { return true }
func (weighted) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (weighted) Loss(g *onnx.Graph, b Batch) *onnx.Value {
	return weightedPhi(g, b, g.Mul(b.Target, b.Coef))
}

// weightedPhi is w * Phi_tau(s), [S, A, B], from L = -log softmax(s).
func weightedPhi(g *onnx.Graph, b Batch, w *onnx.Value) *onnx.Value {
	s := b.Scores
	if b.Allowed != nil {
		s = g.Add(s, b.MaskConst(g, 0, maskedScore))
	}
	s = g.Sub(s, g.StopGradient(g.ReduceMax(s, true, 1)))
	nll := g.Sub(g.Log(g.ReduceSum(g.Exp(s), true, 1)), s)
	return g.Mul(w, phi(g, nll, b.Slope))
}

// phi is Phi_tau as a function of L = -log p:
//
//	(p^(tau-1) - 1)/(1 - tau) = L * expm1(u)/u,  u = (1-tau) L,
//
// which is L at tau = 1. u is capped at phiCap, without gradient beyond.
func phi(g *onnx.Graph, nll, slope *onnx.Value) *onnx.Value {
	if slope == nil {
		return nll
	}
	dt := nll.DType()
	f := func(v float64) *onnx.Value { return g.Scalar(dt, v) }
	u := g.Mul(nll, slope)
	capped := g.Min(u, f(phiCap))
	// Both branches of Where are computed, so each is kept finite where the other is used: a series of a huge u would
	// give Inf * 0 = NaN in the backward pass.
	large := g.Greater(g.Abs(u), f(phiSeries))
	small := g.Where(large, f(0), u)
	// expm1(u)/u to the sixth order, by Horner.
	series := g.Add(f(1.0/120), g.Mul(small, f(1.0/720)))
	for _, c := range []float64{1.0 / 24, 1.0 / 6, 0.5, 1} {
		series = g.Add(f(c), g.Mul(small, series))
	}
	near := g.Mul(g.Where(large, f(0), nll), series)
	divisor := g.Where(g.Greater(g.Abs(slope), f(slopeZero)), slope, f(1))
	far := g.Div(g.Sub(g.Exp(capped), f(1)), divisor)
	return g.Where(large, far, near)
}
