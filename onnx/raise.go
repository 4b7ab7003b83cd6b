package onnx

import (
	"errors"
	"fmt"

	"pipe/onnx/onnxpb"
)

// raised returns a model that computes the same under version to of the standard
// operator set: arguments that moved from attributes to inputs become constants,
// operators with other defaults are spelled out. A node for which nothing is
// known here is an error. m stays as it is.
func raised(m *Model, to int64) (*Model, error) {
	from, ok := opsets(m.Proto)[domain("")]
	if !ok || from >= to {
		return m, nil
	}
	r := &raiser{from: from, to: to, names: valueNames{}}
	r.names.note(m.Proto.GetGraph())
	g, err := r.graph(m.Proto.GetGraph())
	if err != nil {
		return nil, fmt.Errorf("operator sets %d and %d: %w", from, to, err)
	}
	p := &onnxpb.ModelProto{}
	shallow(p, m.Proto)
	p.Graph = g
	return &Model{Proto: p}, nil
}

// raiser rewrites nodes for a newer operator set.
type raiser struct {
	from, to int64
	names    valueNames
}

func (r *raiser) graph(g *onnxpb.GraphProto) (*onnxpb.GraphProto, error) {
	out := &onnxpb.GraphProto{}
	shallow(out, g)
	out.Node = nil
	for i, n := range g.GetNode() {
		nodes, err := r.node(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", nodeTitle(n, i), err)
		}
		out.Node = append(out.Node, nodes...)
	}
	return out, nil
}

// node is what computes the same as n, whose last node has n's name and outputs.
func (r *raiser) node(n *onnxpb.NodeProto) ([]*onnxpb.NodeProto, error) {
	n, err := r.inside(n)
	if err != nil || domain(n.GetDomain()) != domain("") {
		return []*onnxpb.NodeProto{n}, err
	}
	nodes := []*onnxpb.NodeProto{n}
	for _, v := range changed[n.GetOpType()] {
		if v <= r.from || v > r.to || unaffected(n, v) {
			continue
		}
		rewrite := rewriteOf(n.GetOpType(), v)
		if rewrite == nil {
			return nil, fmt.Errorf("changed with version %d", v)
		}
		if len(n.GetInput()) == 0 || len(n.GetOutput()) == 0 {
			return nil, errors.New("has no input or no output")
		}
		last := len(nodes) - 1
		nodes = append(nodes[:last], rewrite(r, nodes[last])...)
		n = nodes[len(nodes)-1]
	}
	return nodes, nil
}

// inside is n with what its attributes hold rewritten.
func (r *raiser) inside(n *onnxpb.NodeProto) (*onnxpb.NodeProto, error) {
	if len(subgraphs(n)) == 0 {
		return n, nil
	}
	out := &onnxpb.NodeProto{}
	shallow(out, n)
	out.Attribute = nil
	for _, a := range n.GetAttribute() {
		c, err := withGraphs(a, r.graph)
		if err != nil {
			return nil, err
		}
		out.Attribute = append(out.Attribute, c)
	}
	return out, nil
}
