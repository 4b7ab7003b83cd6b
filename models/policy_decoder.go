package models

import (
	"math"

	"pipe/onnx"
)

// ExcludedScore is the score of an action that a policy must never choose: a
// pair that does not exist, or one with advice under l2d. It is finite so that
// the scores of a policy file survive any arithmetic, and so far below every
// log-probability that ExcludedBelow separates the two.
const (
	ExcludedScore = -1e30
	ExcludedBelow = -1e29
)

// decoder turns the outputs of members into scores of actions, once in Go and
// once as a graph. The two agree up to float32 rounding; a test holds them to it.
type decoder interface {
	// check reports what about the policy does not suit the decoder.
	check(p *Policy) error
	// scores writes J(K+1) scores to dst; outputs has one slice per member.
	scores(dst []float64, p *Policy, outputs [][]float64)
	// graph returns the scores, batch x J(K+1); features is batch x dim and
	// outputs are batch x width, one per member.
	graph(g *onnx.Graph, p *Policy, features *onnx.Value, outputs []*onnx.Value) *onnx.Value
}

var decoders = map[Decoder]decoder{
	DecoderComposite:        decodeComposite{advice: true},
	DecoderL2D:              decodeComposite{advice: false},
	DecoderSeparated:        decodeSeparated{},
	DecoderSeparatedSoftmax: decodeSeparatedSoftmax{},
	DecoderFixed:            decodeFixed{},
}

// Scores writes the score of every action for the raw features x (FeatureDim
// values) to dst, J(K+1) values, higher is better. It is the reference for the
// exported graph, in float64; the policy must be valid.
func (p *Policy) Scores(dst []float64, x []float32) {
	d, err := p.decoder()
	if err != nil {
		panic("models: " + err.Error())
	}
	in := make([]float64, len(x))
	for c, v := range x {
		in[c] = float64(v)
		if p.Standard.Mean != nil {
			in[c] = (in[c] - float64(p.Standard.Mean[c])) * float64(p.Standard.Scale[c])
		}
	}
	outputs := make([][]float64, len(p.Members))
	for i, m := range p.Members {
		outputs[i] = m.forward(in)
	}
	d.scores(dst, p, outputs)
}

// Decide returns the action for the raw features x: the largest of Scores, the
// smallest index on ties.
func (p *Policy) Decide(x []float32) int {
	scores := make([]float64, p.Actions.Len())
	p.Scores(scores, x)
	return argmaxFirst(scores)
}

// argmaxFirst returns the smallest index of the largest value.
func argmaxFirst(v []float64) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

func (m MLP) forward(x []float64) []float64 {
	for l, a := range m.Layers {
		y := make([]float64, a.Out)
		for o := range y {
			sum := float64(a.B[o]) + dot(a.W[o*a.In:(o+1)*a.In], x)
			if l+1 < len(m.Layers) {
				sum = math.Max(sum, 0)
			}
			y[o] = sum
		}
		x = y
	}
	return x
}

// dot sums in four lanes: one chain of additions waits for each to finish.
func dot(w []float32, x []float64) float64 {
	x = x[:len(w)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(w); i += 4 {
		s0 += float64(w[i]) * x[i]
		s1 += float64(w[i+1]) * x[i+1]
		s2 += float64(w[i+2]) * x[i+2]
		s3 += float64(w[i+3]) * x[i+3]
	}
	for ; i < len(w); i++ {
		s0 += float64(w[i]) * x[i]
	}
	return s0 + s1 + (s2 + s3)
}

// meanOutputs averages the members' outputs element by element.
func meanOutputs(outputs [][]float64) []float64 {
	mean := make([]float64, len(outputs[0]))
	for _, o := range outputs {
		for i, v := range o {
			mean[i] += v / float64(len(outputs))
		}
	}
	return mean
}

// meanValues is meanOutputs as a graph.
func meanValues(g *onnx.Graph, outputs []*onnx.Value) *onnx.Value {
	sum := outputs[0]
	for _, o := range outputs[1:] {
		sum = g.Add(sum, o)
	}
	if len(outputs) == 1 {
		return sum
	}
	return g.Mul(sum, g.Scalar(onnx.Float32, 1/float64(len(outputs))))
}

// excludeGraph replaces the scores of actions that allowed does not list.
func excludeGraph(g *onnx.Graph, scores *onnx.Value, allowed []bool) *onnx.Value {
	for _, ok := range allowed {
		if !ok {
			mask := g.Const(onnx.Bools([]int64{1, int64(len(allowed))}, allowed))
			return g.Where(mask, scores, g.Scalar(onnx.Float32, ExcludedScore))
		}
	}
	return scores
}

func exclude(scores []float64, allowed []bool) {
	for i, ok := range allowed {
		if !ok {
			scores[i] = ExcludedScore
		}
	}
}
