package models

import (
	"pipe/models/policy"
	"pipe/onnx"
)

// Surrogate is a training loss on the outputs of a network. Its gradient is computed by differentiating the graph, so a
// new surrogate only needs a forward expression. Any module can implement one and train with it as the surrogate of a
// [Method].
type Surrogate interface {
	// Name is its name in settings, policy files and checkpoints.
	Name() string
	// Outputs is the number of network outputs for J experts and K+1 levels of advice. The error states other
	// requirements.
	Outputs(experts, advice int) (int, error)
	// Masks reports whether pairs can be excluded; Loss then uses Batch.Allowed.
	Masks() bool
	// Decoder is how the outputs of a trained network become an action. It fixes the order of the outputs.
	Decoder() policy.Decoder
	// Loss returns the per-instance losses as summands [S, *, B], already multiplied by the instance weights b.Coef:
	// their sum over the last two axes is each model's minibatch loss.
	Loss(g *onnx.Graph, b Batch) *onnx.Value
}

// PartialSurrogate is a Surrogate that can be trained where some targets are not known: its loss does not depend on the
// targets and scores where Batch.Known is 0.
type PartialSurrogate interface {
	Surrogate
	Partial()
}

// Batch is one minibatch as a surrogate receives it, inside the graph.
type Batch struct {
	Scores  *onnx.Value // [S, outputs, B]
	Target  *onnx.Value // [S, J(K+1), B] task losses (with measured fees) or class weights
	Known   *onnx.Value // [S, J(K+1), B] 1 where the target is known, else 0; nil if all are. Of a PartialSurrogate
	Coef    *onnx.Value // [S, 1, B] weight of the instance over the size of the minibatch; 0 for padding
	Fees    *onnx.Value // [S, J(K+1), 1] beta_j + lambda*gamma_k
	Slope   *onnx.Value // [S, 1, 1] 1 - tau; nil if tau is 1 for every model
	Models  int         // S
	Allowed []bool      // S x J(K+1), or nil if every pair is allowed
	Experts int         // J
	Advice  int         // K+1
}

// Costs are task losses plus fees, [S, J(K+1), B].
func (b Batch) Costs(g *onnx.Graph) *onnx.Value { return g.Add(b.Target, b.Fees) }

// MaskConst has the value yes for pairs that are allowed and no for those that are not, [S, J(K+1), 1]. It needs Allowed.
func (b Batch) MaskConst(g *onnx.Graph, yes, no float64) *onnx.Value {
	v := make([]float64, len(b.Allowed))
	for i, ok := range b.Allowed {
		v[i] = no
		if ok {
			v[i] = yes
		}
	}
	return perModel(g, b.Scores.DType(), b.Models, v)
}

// perModel is a constant [S, rows, 1] of a float type.
func perModel(g *onnx.Graph, t onnx.DType, models int, v []float64) *onnx.Value {
	shape := []int64{int64(models), int64(len(v) / models), 1}
	if t == onnx.Float64 {
		return g.Const(onnx.Float64s(shape, v))
	}
	narrow := make([]float32, len(v))
	for i, x := range v {
		narrow[i] = float32(x)
	}
	return g.Const(onnx.Float32s(shape, narrow))
}

// slopes are 1 - tau of every model, [S, 1, 1], or nil when all are 0.
func slopes(g *onnx.Graph, t onnx.DType, tau []float64) *onnx.Value {
	slope, bent := make([]float64, len(tau)), false
	for i, v := range tau {
		slope[i] = 1 - v
		bent = bent || v != 1
	}
	if !bent {
		return nil
	}
	return perModel(g, t, len(tau), slope)
}

// Softplus is log(1 + e^x) of every element, without overflow; it has the shape of x. It is made of operators that also exist in double precision, in which
// gradients are checked.
func Softplus(g *onnx.Graph, x *onnx.Value) *onnx.Value {
	one := g.Scalar(x.DType(), 1)
	return g.Add(g.Relu(x), g.Log(g.Add(one, g.Exp(g.Neg(g.Abs(x))))))
}
