package models

import (
	"pipe/models/policy"
	"pipe/onnx"
)

// Surrogate is a training loss over a network's outputs. Its gradient comes
// from differentiating the graph, so that a new one is a forward expression.
// Implement it in any module and train with it as that of a [Method].
type Surrogate interface {
	// Name is what settings, policy files and checkpoints call it.
	Name() string
	// Outputs is the number of network outputs for J experts and K+1 levels of
	// advice; the error says what else is needed.
	Outputs(experts, advice int) (int, error)
	// Masks says whether pairs can be left out: then Loss looks at Batch.Allowed.
	Masks() bool
	// Decoder says how a trained network's outputs become an action. It fixes the
	// order of the outputs.
	Decoder() policy.Decoder
	// Loss returns the per-instance losses as summands [S, *, B] with the
	// instance weights b.Coef already applied: their sum over the last two axes
	// is each model's minibatch loss.
	Loss(g *onnx.Graph, b Batch) *onnx.Value
}

// Batch is what a surrogate sees of one minibatch, inside the graph.
type Batch struct {
	Scores  *onnx.Value // [S, outputs, B]
	Target  *onnx.Value // [S, J(K+1), B] task losses (with measured fees) or class weights
	Coef    *onnx.Value // [S, 1, B] 1 over the size of the minibatch; 0 for padding
	Fees    *onnx.Value // [S, J(K+1), 1] beta_j + lambda*gamma_k
	Slope   *onnx.Value // [S, 1, 1] 1 - tau; nil when tau is 1 for every model
	Models  int         // S
	Allowed []bool      // S x J(K+1), or nil when every pair is allowed
	Experts int         // J
	Advice  int         // K+1
}

// Costs are task losses plus fees, [S, J(K+1), B].
func (b Batch) Costs(g *onnx.Graph) *onnx.Value { return g.Add(b.Target, b.Fees) }

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

// softplus is log(1 + e^x) without overflow, from operators that exist in
// double precision too, where gradients are checked.
func softplus(g *onnx.Graph, x *onnx.Value) *onnx.Value {
	one := g.Scalar(x.DType(), 1)
	return g.Add(g.Relu(x), g.Log(g.Add(one, g.Exp(g.Neg(g.Abs(x))))))
}
