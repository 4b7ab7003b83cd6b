package models

import (
	"fmt"
	"strings"

	"pipe/models/network"
	"pipe/onnx"
)

// heads are the known final layers, by the name used in settings.
var heads = []string{"low_rank", "linear"}

// headShape is what a head scores: outputs values from a representation of the
// given width; a low-rank head needs outputs = experts x advice.
type headShape struct {
	width, experts, advice, outputs int
}

// head is the last, affine layer on the representation z. In the graph and at export it is always reduced to one weight
// and one bias.
type head interface {
	params() []param
	// affine returns weight [S, outputs, width] and bias [S, outputs, 1].
	affine(g *onnx.Graph, p []*onnx.Value) (w, b *onnx.Value)
	// collapse is affine for one model on the host.
	collapse(p [][]float32) network.Affine
}

func newHead(name string, s headShape) (head, error) {
	switch name {
	case "linear":
		return linearHead{s}, nil
	case "low_rank":
		if s.outputs != s.experts*s.advice {
			return nil, fmt.Errorf("head low_rank scores %d pairs, the surrogate needs %d outputs: use linear", s.experts*s.advice, s.outputs)
		}
		return lowRankHead{s}, nil
	}
	return nil, fmt.Errorf("head: %q, known are %s", name, strings.Join(heads, ", "))
}

// linearHead scores output o as <w_o, z> + b_o.
type linearHead struct{ headShape }

func (h linearHead) params() []param {
	return []param{
		{name: "head.weight", rows: h.outputs, cols: h.width, fanIn: h.width, fanOut: h.outputs},
		{name: "head.bias", rows: h.outputs, cols: 1, bias: true, fanIn: h.width},
	}
}

func (h linearHead) affine(_ *onnx.Graph, p []*onnx.Value) (w, b *onnx.Value) { return p[0], p[1] }

func (h linearHead) collapse(p [][]float32) network.Affine {
	return network.Affine{Out: h.outputs, In: h.width, W: p[0], B: p[1]}
}

// lowRankHead is the paper's scorer: rho_j + <a_j, z> + delta_k +
// <m_j, g_k * z> for (j,k), which is the affine map with weight a_j + m_j*g_k
// and bias rho_j + delta_k.
type lowRankHead struct{ headShape }

func (h lowRankHead) params() []param {
	return []param{
		{name: "head.rho", rows: h.experts, cols: 1, bias: true, fanIn: h.width},
		{name: "head.a", rows: h.experts, cols: h.width, fanIn: h.width, fanOut: h.experts},
		{name: "head.delta", rows: h.advice, cols: 1, bias: true, fanIn: h.width},
		{name: "head.m", rows: h.experts, cols: h.width, fanIn: h.width, fanOut: h.experts},
		{name: "head.g", rows: h.advice, cols: h.width, fanIn: h.width, fanOut: h.width},
	}
}

func (h lowRankHead) affine(g *onnx.Graph, p []*onnx.Value) (w, b *onnx.Value) {
	j, k, d := int64(h.experts), int64(h.advice), int64(h.width)
	s := p[0].Shape()[0].Size
	rho, a := g.Reshape(p[0], s, j, 1, 1), g.Reshape(p[1], s, j, 1, d)
	delta, m, gate := g.Reshape(p[2], s, 1, k, 1), g.Reshape(p[3], s, j, 1, d), g.Reshape(p[4], s, 1, k, d)
	w = g.Add(g.Mul(m, gate), a) // [S, J, K+1, d]
	return g.Reshape(w, s, j*k, d), g.Reshape(g.Add(rho, delta), s, j*k, 1)
}

func (h lowRankHead) collapse(p [][]float32) network.Affine {
	rho, a, delta, m, gate := p[0], p[1], p[2], p[3], p[4]
	out := network.Affine{Out: h.outputs, In: h.width, W: make([]float32, h.outputs*h.width), B: make([]float32, h.outputs)}
	for j := range h.experts {
		for k := range h.advice {
			i := j*h.advice + k
			out.B[i] = rho[j] + delta[k]
			for c := range h.width {
				out.W[i*h.width+c] = a[j*h.width+c] + m[j*h.width+c]*gate[k*h.width+c]
			}
		}
	}
	return out
}
