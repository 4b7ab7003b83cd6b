package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

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
	r := &raiser{from: from, to: to, names: map[string]bool{}}
	r.note(m.Proto.GetGraph())
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
	names    map[string]bool // of all values, so that new ones differ
}

// note remembers the names of a graph and of those inside.
func (r *raiser) note(g *onnxpb.GraphProto) {
	for _, v := range slices.Concat(g.GetInput(), g.GetOutput()) {
		r.names[v.GetName()] = true
	}
	for _, t := range g.GetInitializer() {
		r.names[t.GetName()] = true
	}
	for _, n := range g.GetNode() {
		for _, name := range n.GetOutput() {
			r.names[name] = true
		}
		for _, inner := range subgraphs(n) {
			r.note(inner)
		}
	}
}

// fresh is a name that no value has.
func (r *raiser) fresh(name string) string {
	for r.names[name] {
		name += "'"
	}
	r.names[name] = true
	return name
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
		c := &onnxpb.AttributeProto{}
		shallow(c, a)
		var err error
		if a.GetG() != nil {
			if c.G, err = r.graph(a.GetG()); err != nil {
				return nil, err
			}
		}
		c.Graphs = nil
		for _, g := range a.GetGraphs() {
			inner, err := r.graph(g)
			if err != nil {
				return nil, err
			}
			c.Graphs = append(c.Graphs, inner)
		}
		out.Attribute = append(out.Attribute, c)
	}
	return out, nil
}

func subgraphs(n *onnxpb.NodeProto) (list []*onnxpb.GraphProto) {
	for _, a := range n.GetAttribute() {
		if a.GetG() != nil {
			list = append(list, a.GetG())
		}
		list = append(list, a.GetGraphs()...)
	}
	return list
}

// rewriteOf is what a version's change of an operator asks for; nil if that is
// not known.
func rewriteOf(op string, version int64) func(*raiser, *onnxpb.NodeProto) []*onnxpb.NodeProto {
	switch {
	case version == 12 && op == "Dropout":
		return withoutRatio
	case version == 13 && op == "Split":
		return attributeToInput("split")
	case version == 13 && slices.Contains([]string{"Softmax", "LogSoftmax", "Hardmax"}, op):
		return flattened
	case version == 13: // Squeeze, Unsqueeze, ReduceSum
		return attributeToInput("axes")
	case version == 18 && op == "Split":
		return countedOutputs
	case version == 18: // the other reductions
		return attributeToInput("axes")
	}
	return nil
}

// attributeToInput turns a list of numbers into the second input.
func attributeToInput(name string) func(*raiser, *onnxpb.NodeProto) []*onnxpb.NodeProto {
	return func(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
		at := slices.IndexFunc(n.GetAttribute(), func(a *onnxpb.AttributeProto) bool { return a.GetName() == name })
		if at < 0 {
			return []*onnxpb.NodeProto{n}
		}
		values := n.GetAttribute()[at].GetInts()
		input := r.fresh(n.GetOutput()[0] + "/" + name)
		constant := operator("Constant", nil, input, &onnxpb.AttributeProto{
			Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(),
			T: &onnxpb.TensorProto{DataType: proto.Int32(int32(onnxpb.TensorProto_INT64)), Dims: []int64{int64(len(values))}, Int64Data: values},
		})
		c := &onnxpb.NodeProto{}
		shallow(c, n)
		c.Attribute = slices.Concat(n.GetAttribute()[:at], n.GetAttribute()[at+1:])
		c.Input = append(slices.Clone(n.GetInput()), input)
		return []*onnxpb.NodeProto{constant, c}
	}
}

// withoutRatio leaves out how much Dropout drops, which nothing does when a model
// is used.
func withoutRatio(_ *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	c := &onnxpb.NodeProto{}
	shallow(c, n)
	c.Attribute = nil
	return []*onnxpb.NodeProto{c}
}

// countedOutputs tells Split into how many equal parts.
func countedOutputs(_ *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	c := &onnxpb.NodeProto{}
	shallow(c, n)
	c.Attribute = append(slices.Clone(n.GetAttribute()), intAttribute("num_outputs", int64(len(n.GetOutput()))))
	return []*onnxpb.NodeProto{c}
}

// flattened spells out that Softmax used to be one over all axes from its axis,
// by default the second, on.
func flattened(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	axis := int64(1)
	for _, a := range n.GetAttribute() {
		if a.GetName() == "axis" {
			axis = a.GetI()
		}
	}
	in, out := n.GetInput()[0], n.GetOutput()[0]
	flat, values, shape := r.fresh(out+"/flat"), r.fresh(out+"/values"), r.fresh(out+"/shape")
	last := operator("Reshape", []string{values, shape}, out)
	last.Name = n.Name
	return []*onnxpb.NodeProto{
		operator("Flatten", []string{in}, flat, intAttribute("axis", axis)),
		operator(n.GetOpType(), []string{flat}, values, intAttribute("axis", -1)),
		operator("Shape", []string{in}, shape),
		last,
	}
}

func operator(op string, inputs []string, output string, attributes ...*onnxpb.AttributeProto) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{OpType: proto.String(op), Input: inputs, Output: []string{output}, Attribute: attributes}
}

func intAttribute(name string, v int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: proto.String(name), Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(v)}
}
