package rewrite

import (
	"errors"
	"fmt"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// SplitOptions say where a merged model is split, and the names in its halves.
type SplitOptions struct {
	At     string  // the value that the first half makes for the second
	Output string  // its name in the first half
	Input  onnx.IO // its name in the second half; type and shape are those that m has, else these
	// Prefixes that Merge added to names; they are removed.
	FirstPrefix, SecondPrefix string
}

// Split is the inverse of a Merge that connected one value: the first model computes the value from inputs of m, the
// second computes the outputs of m from that value alone. Nodes and constants that are not needed are left out. Both
// have the operator sets, functions and metadata of m, and share its constants.
//
// It is an error if m has no such value, or if its outputs need other inputs as well.
func Split(m *onnx.Model, o SplitOptions) (first, second *onnx.Model, err error) {
	if first, second, err = split(m, o); err != nil {
		return nil, nil, fmt.Errorf("split model: %w", err)
	}
	return first, second, nil
}

func split(m *onnx.Model, o SplitOptions) (first, second *onnx.Model, err error) {
	if err := m.Check(); err != nil {
		return nil, nil, err
	}
	g := m.Proto.GetGraph()
	made := map[string]bool{}
	for _, n := range g.GetNode() {
		for _, name := range n.GetOutput() {
			made[name] = true
		}
	}
	if !made[o.At] {
		return nil, nil, fmt.Errorf("no node computes %q", o.At)
	}
	front := halfOf(g, map[string]bool{}, o.At)
	var outputs []string
	for _, v := range g.GetOutput() {
		outputs = append(outputs, v.GetName())
	}
	back := halfOf(g, map[string]bool{o.At: true}, outputs...)
	if len(back.Input) > 0 {
		return nil, nil, fmt.Errorf("the part after %q also needs the input %q", o.At, back.Input[0].GetName())
	}
	value := onnx.ValueInfo(o.At, o.Input.DType, o.Input.Shape)
	for _, v := range g.GetValueInfo() {
		if v.GetName() == o.At {
			value = v
		}
	}
	front.Output = []*onnxpb.ValueInfoProto{value}
	back.Input, back.Output = []*onnxpb.ValueInfoProto{value}, g.GetOutput()
	a, b := newRenamer(""), newRenamer("")
	a.strip, b.strip = o.FirstPrefix, o.SecondPrefix
	a.names[o.At], b.names[o.At] = o.Output, o.Input.Name
	first, second = &onnx.Model{Proto: withGraph(m.Proto, a.graph(front))}, &onnx.Model{Proto: withGraph(m.Proto, b.graph(back))}
	return first, second, errors.Join(first.Check(), second.Check())
}

// withGraph is a model with another graph.
func withGraph(m *onnxpb.ModelProto, g *onnxpb.GraphProto) *onnxpb.ModelProto {
	out := &onnxpb.ModelProto{}
	protos.Shallow(out, m)
	out.Graph = g
	return out
}

// halfOf is the part of a graph that is needed for the wanted values, without its outputs. Values in given are computed
// elsewhere.
func halfOf(g *onnxpb.GraphProto, given map[string]bool, wanted ...string) *onnxpb.GraphProto {
	need := map[string]bool{}
	for _, name := range wanted {
		need[name] = true
	}
	half := &onnxpb.GraphProto{Name: g.Name}
	nodes := g.GetNode()
	keep := make([]bool, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- { // nodes come after what they use
		for _, name := range nodes[i].GetOutput() {
			keep[i] = keep[i] || name != "" && need[name] && !given[name]
		}
		if keep[i] {
			reads(nodes[i], need)
		}
	}
	for i, n := range nodes {
		if keep[i] {
			half.Node = append(half.Node, n)
		}
	}
	for _, t := range g.GetInitializer() {
		if need[t.GetName()] {
			half.Initializer = append(half.Initializer, t)
		}
	}
	for _, t := range g.GetSparseInitializer() {
		if need[t.GetValues().GetName()] {
			half.SparseInitializer = append(half.SparseInitializer, t)
		}
	}
	for _, q := range g.GetQuantizationAnnotation() {
		if need[q.GetTensorName()] {
			half.QuantizationAnnotation = append(half.QuantizationAnnotation, q)
		}
	}
	for _, v := range g.GetValueInfo() {
		if need[v.GetName()] && !given[v.GetName()] {
			half.ValueInfo = append(half.ValueInfo, v)
		}
	}
	for _, v := range g.GetInput() {
		if need[v.GetName()] {
			half.Input = append(half.Input, v)
		}
	}
	return half
}

// reads adds the values that a node reads, including those that nested graphs read from enclosing ones.
func reads(n *onnxpb.NodeProto, need map[string]bool) {
	for _, name := range n.GetInput() {
		need[name] = true
	}
	inside := func(g *onnxpb.GraphProto) {
		for _, n := range g.GetNode() {
			reads(n, need)
		}
		for _, v := range g.GetOutput() {
			need[v.GetName()] = true
		}
	}
	for _, a := range n.GetAttribute() {
		if a.GetG() != nil {
			inside(a.GetG())
		}
		for _, g := range a.GetGraphs() {
			inside(g)
		}
	}
}
