package models

import (
	"fmt"
	"math"

	"pipe/internal/seeded"
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

// initialisers are the known ways to initialise a network, by the name used in settings; fans are those of the layer of
// a parameter.
//
//	fan_in  uniform on +-1/sqrt(fan in), biases too (the default of PyTorch's Linear)
//	xavier  uniform with variance 2/(fan in + fan out), biases zero (Glorot and Bengio)
//	he      uniform with variance 2/(fan in), biases zero (He et al.)
var initialisers = []string{"fan_in", "xavier", "he"}

// param is one parameter of one model: a rows x cols matrix. In the training
// graph it is [S, rows, cols].
type param struct {
	name          string
	rows, cols    int
	bias          bool
	fanIn, fanOut int
}

func (p param) size() int { return p.rows * p.cols }

// draw fills a parameter. It depends only on the seed of the model and the name of the parameter, not on other
// parameters.
func (p param) draw(init string, seed uint64) []float32 {
	v := make([]float32, p.size())
	if p.bias && init != "fan_in" {
		return v
	}
	variance := 1 / (3 * float64(p.fanIn))
	switch init {
	case "xavier":
		variance = 2 / float64(p.fanIn+p.fanOut)
	case "he":
		variance = 2 / float64(p.fanIn)
	}
	limit := math.Sqrt(3 * variance) // a uniform on (-l, l) has variance l*l/3
	r := seeded.Stream(seed, "init/"+p.name, 0)
	for i := range v {
		v[i] = float32((2*r.Float64() - 1) * limit)
	}
	return v
}
