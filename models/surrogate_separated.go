package models

import (
	"fmt"

	"pipe/models/policy"
	"pipe/onnx"
)

// separated is the binary separated surrogate of the paper (J = 2, K = 1):
// outputs are the router score r and a query score q_j per expert,
//
//	loss = sum_j Psi_j(r) [c_j0 log(1+e^-q_j) + c_j1 log(1+e^q_j)],
//
// Psi_0(r) = log(1+e^-r), Psi_1(r) = log(1+e^r). It is not consistent; the
// paper compares with it.
type separated struct{}

func (separated) Name() string            { return "separated" }
func (separated) Masks() bool             { return false }
func (separated) Decoder() policy.Decoder { return policy.DecoderSeparated }

func (separated) Outputs(experts, advice int) (int, error) {
	if experts != 2 || advice != 2 {
		return 0, fmt.Errorf("surrogate separated is defined for 2 experts and 2 levels of advice, not %d and %d; separated_softmax takes more", experts, advice)
	}
	return 3, nil
}

func (separated) Loss(g *onnx.Graph, b Batch) *onnx.Value {
	score := func(o int64) *onnx.Value { return g.Slice(b.Scores, []int64{o}, []int64{o + 1}, []int64{1}, nil) }
	c := b.Costs(g)
	cost := func(i int64) *onnx.Value { return g.Slice(c, []int64{i}, []int64{i + 1}, []int64{1}, nil) }
	row := func(j int64) *onnx.Value {
		q := score(1 + j)
		return g.Add(g.Mul(cost(2*j), Softplus(g, g.Neg(q))), g.Mul(cost(2*j+1), Softplus(g, q)))
	}
	r := score(0)
	loss := g.Add(g.Mul(Softplus(g, g.Neg(r)), row(0)), g.Mul(Softplus(g, r), row(1)))
	return g.Mul(loss, b.Coef)
}

// separatedSoftmax is our generalisation of separated to J x (K+1):
//
//	sum_j -log(1 - p_j) sum_k c_jk (-log(1 - q_jk)),
//
// p the softmax of J router outputs, q_j the softmax of expert j's K+1 query
// outputs. At J = 2, K = 1 it is the binary loss with r = s_1 - s_0 and
// q_j = q_j1 - q_j0.
type separatedSoftmax struct{}

func (separatedSoftmax) Name() string            { return "separated_softmax" }
func (separatedSoftmax) Masks() bool             { return false }
func (separatedSoftmax) Decoder() policy.Decoder { return policy.DecoderSeparatedSoftmax }

func (separatedSoftmax) Outputs(experts, advice int) (int, error) {
	if experts < 2 || advice < 2 {
		return 0, fmt.Errorf("surrogate separated_softmax needs 2 experts and 2 levels of advice or more, not %d and %d", experts, advice)
	}
	return experts * (1 + advice), nil
}

func (separatedSoftmax) Loss(g *onnx.Graph, b Batch) *onnx.Value {
	j, k := int64(b.Experts), int64(b.Advice)
	s, n := int64(b.Models), b.Scores.Shape()[2].Size
	router := g.Reshape(g.Slice(b.Scores, []int64{0}, []int64{j}, []int64{1}, nil), s, 1, j, n)
	query := g.Reshape(g.Slice(b.Scores, []int64{j}, []int64{j + j*k}, []int64{1}, nil), s, j, k, n)
	c := g.Reshape(b.Costs(g), s, j, k, n)
	inner := g.ReduceSum(g.Mul(c, nllComplement(g, query)), false, 2) // [S, J, B]
	outer := g.Reshape(nllComplement(g, router), s, j, n)             // [S, J, B]
	return g.Mul(g.Mul(outer, inner), b.Coef)
}

// nllComplement is -log(1 - softmax(s)) along axis 2 of a rank-4 value. It is computed as logsumexp over all minus
// logsumexp over the others, so that it stays finite if a probability is 1 in float32.
func nllComplement(g *onnx.Graph, s *onnx.Value) *onnx.Value {
	n := s.Shape()[2].Size
	all := logSumExp(g, s)
	var parts []*onnx.Value
	for i := range n {
		var others []*onnx.Value
		if i > 0 {
			others = append(others, g.Slice(s, []int64{0}, []int64{i}, []int64{2}, nil))
		}
		if i < n-1 {
			others = append(others, g.Slice(s, []int64{i + 1}, []int64{n}, []int64{2}, nil))
		}
		rest := others[0]
		if len(others) == 2 {
			rest = g.Concat(2, others...)
		}
		parts = append(parts, g.Sub(all, logSumExp(g, rest)))
	}
	return g.Concat(2, parts...)
}

// logSumExp reduces axis 2 and keeps it with size 1.
func logSumExp(g *onnx.Graph, s *onnx.Value) *onnx.Value {
	m := g.StopGradient(g.ReduceMax(s, true, 2))
	return g.Add(g.Log(g.ReduceSum(g.Exp(g.Sub(s, m)), true, 2)), m)
}
