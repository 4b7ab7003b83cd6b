package rewrite

import (
	"slices"

	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// subgraphs are the graphs in the attributes of a node.
func subgraphs(n *onnxpb.NodeProto) (list []*onnxpb.GraphProto) {
	for _, a := range n.GetAttribute() {
		if a.GetG() != nil {
			list = append(list, a.GetG())
		}
		list = append(list, a.GetGraphs()...)
	}
	return list
}

// withGraphs is an attribute whose graphs are rewritten.
func withGraphs(a *onnxpb.AttributeProto, rewrite func(*onnxpb.GraphProto) (*onnxpb.GraphProto, error)) (*onnxpb.AttributeProto, error) {
	c := &onnxpb.AttributeProto{}
	protos.Shallow(c, a)
	c.Graphs = nil
	var err error
	if a.GetG() != nil {
		if c.G, err = rewrite(a.GetG()); err != nil {
			return nil, err
		}
	}
	for _, g := range a.GetGraphs() {
		if g, err = rewrite(g); err != nil {
			return nil, err
		}
		c.Graphs = append(c.Graphs, g)
	}
	return c, nil
}

// valueNames are the names of all values of a model, used to create new ones.
type valueNames map[string]bool

// note adds the names of a graph and of nested graphs.
func (v valueNames) note(g *onnxpb.GraphProto) {
	for _, i := range slices.Concat(g.GetInput(), g.GetOutput()) {
		v[i.GetName()] = true
	}
	for _, t := range g.GetInitializer() {
		v[t.GetName()] = true
	}
	for _, n := range g.GetNode() {
		for _, name := range n.GetOutput() {
			v[name] = true
		}
		for _, inner := range subgraphs(n) {
			v.note(inner)
		}
	}
}

// fresh is an unused name.
func (v valueNames) fresh(name string) string {
	for v[name] {
		name += "'"
	}
	v[name] = true
	return name
}
