package models

import (
	"fmt"

	"pipe/models/network"
	"pipe/onnx"
)

// scorer is the trained network: hidden ReLU layers and a head. It defines its parameters, its graph and its host form.
type scorer struct {
	dim    int
	hidden []int
	head   head
}

func newScorer(p *Problem, s Settings, sur Surrogate) (scorer, error) {
	outputs, err := sur.Outputs(p.Experts, p.Advice)
	if err != nil {
		return scorer{}, err
	}
	if outputs < 1 {
		return scorer{}, fmt.Errorf("surrogate %s: it asks for %d outputs of the network, at least 1 is needed", sur.Name(), outputs)
	}
	n := scorer{dim: p.Dim, hidden: s.Hidden}
	width := p.Dim
	if len(s.Hidden) > 0 {
		width = s.Hidden[len(s.Hidden)-1]
	}
	n.head, err = newHead(s.Head, headShape{width: width, experts: p.Experts, advice: p.Advice, outputs: outputs})
	return n, err
}

func (n scorer) params() []param {
	var ps []param
	in := n.dim
	for i, h := range n.hidden {
		ps = append(ps,
			param{name: fmt.Sprintf("hidden.%d.weight", i), rows: h, cols: in, fanIn: in, fanOut: h},
			param{name: fmt.Sprintf("hidden.%d.bias", i), rows: h, cols: 1, bias: true, fanIn: in})
		in = h
	}
	return append(ps, n.head.params()...)
}

// size is the number of weights of one model.
func (n scorer) size() int {
	total := 0
	for _, p := range n.params() {
		total += p.size()
	}
	return total
}

// forward maps x [S, dim, B] to scores [S, outputs, B]. drop[i] multiplies
// hidden layer i ([S, width, B]); an empty drop means no dropout.
func (n scorer) forward(g *onnx.Graph, x *onnx.Value, p, drop []*onnx.Value) *onnx.Value {
	z := x
	for i := range n.hidden {
		z = g.Relu(g.Add(g.MatMul(p[2*i], z), p[2*i+1]))
		if len(drop) > 0 {
			z = g.Mul(z, drop[i])
		}
	}
	w, b := n.head.affine(g, p[2*len(n.hidden):])
	return g.Add(g.MatMul(w, z), b)
}

// mlp is the host form of one model's parameters, in the order of params.
func (n scorer) mlp(p [][]float32) network.MLP {
	var m network.MLP
	in := n.dim
	for i, h := range n.hidden {
		m.Layers = append(m.Layers, network.Affine{Out: h, In: in, W: p[2*i], B: p[2*i+1]})
		in = h
	}
	m.Layers = append(m.Layers, n.head.collapse(p[2*len(n.hidden):]))
	return m
}
