package rewrite

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// PickOptions are the names that PickRows uses.
type PickOptions struct {
	Output string // the output [a, b, v] to pick from
	Rows   string // new input, int64 [n, 2]: which (index on a, index on b), each from 0
	Picked string // new output, float32 [n, v], which replaces Output
}

// PickRows returns the model with one output narrowed to chosen rows, so that a caller that needs only a few rows does
// not pay for all. If the last operators of the output work row by row, such as the projection of a language model onto
// its vocabulary, the rows are picked before them and the rest is never computed. The model is not changed; the result
// shares its constants.
func PickRows(m *onnx.Model, o PickOptions) (*onnx.Model, error) {
	out, err := pickRows(m, o)
	if err != nil {
		return nil, fmt.Errorf("pick rows of output %q: %w", o.Output, err)
	}
	return out, nil
}

func pickRows(m *onnx.Model, o PickOptions) (*onnx.Model, error) {
	io, ok := byName(m.Outputs())[o.Output]
	switch {
	case !ok:
		return nil, errors.New("the model has no such output")
	case io.Shape != nil && len(io.Shape) != 3:
		return nil, fmt.Errorf("it has shape %s, expected three axes", io.Shape)
	case !standardOpset(m.Proto, 11):
		return nil, errors.New("GatherND needs operator set 11 or higher")
	}
	p := &picker{g: &onnxpb.GraphProto{}}
	protos.Shallow(p.g, m.Proto.GetGraph())
	p.pick(o)
	p.declare(o, io)
	model := &onnxpb.ModelProto{}
	protos.Shallow(model, m.Proto)
	model.Graph = p.g
	picked := &onnx.Model{Proto: model}
	return picked, picked.Check()
}

// standardOpset reports whether the model imports the standard operators at least at this version.
func standardOpset(m *onnxpb.ModelProto, version int64) bool {
	return slices.ContainsFunc(m.GetOpsetImport(), func(s *onnxpb.OperatorSetIdProto) bool {
		return protos.Domain(s.GetDomain()) == "ai.onnx" && s.GetVersion() >= version
	})
}

// picker edits a graph whose lists are shared with the original.
type picker struct{ g *onnxpb.GraphProto }

// pick gathers in front of the chain of row-wise nodes that ends in the output.
func (p *picker) pick(o PickOptions) {
	nodes := slices.Clone(p.g.GetNode())
	value, at := o.Output, len(nodes)
	var chain []string // values that lose an axis
	for {
		i := producer(nodes, value)
		if i < 0 || uses(p.g, value) > 1 || !p.rowWise(nodes[i]) {
			break
		}
		chain = append(chain, value)
		value, at = nodes[i].GetInput()[0], i
	}
	const rows = "/picked"
	gather := &onnxpb.NodeProto{
		OpType: proto.String("GatherND"), Name: proto.String(o.Picked + "/GatherND"),
		Input: []string{value, o.Rows}, Output: []string{value + rows},
	}
	last := value + rows
	if len(chain) > 0 {
		last = o.Output
		first := proto.Clone(nodes[at]).(*onnxpb.NodeProto)
		first.Input[0] = value + rows
		nodes[at] = first
	}
	nodes = slices.Insert(nodes, at, gather)
	p.g.Node = append(nodes, &onnxpb.NodeProto{
		OpType: proto.String("Cast"), Name: proto.String(o.Picked + "/Cast"),
		Input: []string{last}, Output: []string{o.Picked},
		Attribute: []*onnxpb.AttributeProto{{
			Name: proto.String("to"), Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(int64(onnx.Float32)),
		}},
	})
	p.g.ValueInfo = slices.DeleteFunc(slices.Clone(p.g.GetValueInfo()), func(v *onnxpb.ValueInfoProto) bool {
		return slices.Contains(chain, v.GetName())
	})
}

// declare replaces the output and adds the input.
func (p *picker) declare(o PickOptions, was onnx.IO) {
	vocabulary := onnx.Sym("?")
	if len(was.Shape) == 3 {
		vocabulary = was.Shape[2]
	}
	n := onnx.Sym(o.Rows + ".n")
	p.g.Input = append(slices.Clone(p.g.GetInput()), onnx.ValueInfo(o.Rows, onnx.Int64, onnx.Shape{n, onnx.Fix(2)}))
	p.g.Output = slices.Clone(p.g.GetOutput())
	for i, v := range p.g.GetOutput() {
		if v.GetName() == o.Output {
			p.g.Output[i] = onnx.ValueInfo(o.Picked, onnx.Float32, onnx.Shape{n, vocabulary})
		}
	}
}

func producer(nodes []*onnxpb.NodeProto, value string) int {
	return slices.IndexFunc(nodes, func(n *onnxpb.NodeProto) bool { return slices.Contains(n.GetOutput(), value) })
}

// uses counts the readers of a value: nodes, including those in nested graphs, and outputs.
func uses(g *onnxpb.GraphProto, value string) int {
	count := 0
	for _, n := range g.GetNode() {
		for _, in := range n.GetInput() {
			if in == value {
				count++
			}
		}
		for _, a := range n.GetAttribute() {
			for _, inner := range slices.Concat(a.GetGraphs(), []*onnxpb.GraphProto{a.GetG()}) {
				count += uses(inner, value)
			}
		}
	}
	for _, v := range g.GetOutput() {
		if v.GetName() == value {
			count++
		}
	}
	return count
}

// rowWise reports whether a node computes every row of its output, along the last axis, only from the same row of its
// first input and from constants.
func (p *picker) rowWise(n *onnxpb.NodeProto) bool {
	in, standard := n.GetInput(), protos.Domain(n.GetDomain()) == "ai.onnx"
	switch n.GetOpType() {
	case "Cast", "Identity", "Tanh":
		return standard && len(in) == 1
	case "Mul", "Div", "Add":
		return standard && len(in) == 2 && p.constantRank(in[1], 1)
	case "MatMul":
		return standard && len(in) == 2 && p.constantRank(in[1], 2)
	case "MatMulNBits": // quantised weights; all inputs but the first are constant
		return n.GetDomain() == "com.microsoft" && len(in) > 0
	}
	return false
}

// constantRank reports whether a value is a constant of at most the given rank, or such a constant transposed, cast or
// dequantised.
func (p *picker) constantRank(value string, most int) bool {
	for _, t := range p.g.GetInitializer() {
		if t.GetName() == value {
			return len(t.GetDims()) <= most
		}
	}
	i := producer(p.g.GetNode(), value)
	if i < 0 {
		return false
	}
	switch n := p.g.GetNode()[i]; n.GetOpType() {
	case "Transpose", "Cast", "Identity", "DequantizeLinear":
		return len(n.GetInput()) > 0 && p.constantRank(n.GetInput()[0], most)
	case "Constant":
		for _, a := range n.GetAttribute() {
			if a.GetName() == "value" {
				return len(a.GetT().GetDims()) <= most
			}
		}
	}
	return false
}
