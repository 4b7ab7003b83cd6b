package rewrite

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// ToFloat16 is the model with its float32 weights and arithmetic in float16; inputs and outputs do not change.
// Arguments that an operator accepts only in float32 stay float32, such as scales of quantisation. Numbers round to the
// nearest. Numbers above the largest float16, 65504, which represent infinity in masks, become that number. A single
// number that would become 0, such as an epsilon, becomes the smallest positive one. m is not changed.
//
// Models with non-standard operators, with functions or with sparse weights are refused.
func ToFloat16(m *onnx.Model) (*onnx.Model, error) {
	out, err := toFloat16(m)
	if err != nil {
		return nil, fmt.Errorf("convert model to float16: %w", err)
	}
	return out, nil
}

func toFloat16(m *onnx.Model) (*onnx.Model, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if len(m.Proto.GetFunctions()) > 0 {
		return nil, fmt.Errorf("it has functions, such as %q", m.Proto.GetFunctions()[0].GetName())
	}
	g := m.Proto.GetGraph()
	h := &halver{
		opset: opsets(m.Proto)[protos.Domain("")], names: valueNames{}, types: map[string]onnx.DType{},
		constants: map[string]*onnxpb.TensorProto{}, halved: map[string]bool{}, inner: map[string]string{},
	}
	h.names.note(g)
	if err := h.note(g); err != nil {
		return nil, err
	}
	h.use(g)
	given, results := m.Inputs(), m.Outputs()
	for _, v := range slices.Concat(given, results) {
		if v.DType == onnx.Float32 && h.inner[v.Name] == "" {
			h.inner[v.Name] = h.names.fresh(v.Name + "/float16")
		}
	}
	half, err := h.graph(g)
	if err != nil {
		return nil, err
	}
	h.border(half, g, given, results)
	out := &onnx.Model{Proto: &onnxpb.ModelProto{}}
	protos.Shallow(out.Proto, m.Proto)
	out.Proto.Graph = half
	out.Proto.IrVersion = proto.Int64(max(4, m.Proto.GetIrVersion())) // before version 4, weights had to be inputs as well
	return out, out.Check()
}

// halver rewrites a graph and nested graphs.
type halver struct {
	opset     int64
	names     valueNames
	types     map[string]onnx.DType          // of those that are known
	constants map[string]*onnxpb.TensorProto // float32, by name
	halved    map[string]bool                // constants that are used in float16
	inner     map[string]string              // other names of inputs and outputs inside the model
}

func (h *halver) rename(name string) string {
	if n, ok := h.inner[name]; ok {
		return n
	}
	return name
}

// use records which constants are used other than as float32 arguments.
func (h *halver) use(g *onnxpb.GraphProto) {
	for _, n := range g.GetNode() {
		stay := h.single(n)
		for i, name := range n.GetInput() {
			if !slices.Contains(stay.in, i) {
				h.halved[name] = true
			}
		}
		for _, inner := range subgraphs(n) {
			h.use(inner)
		}
	}
	for _, v := range g.GetOutput() {
		h.halved[v.GetName()] = true
	}
}

func (h *halver) graph(g *onnxpb.GraphProto) (*onnxpb.GraphProto, error) {
	out := &onnxpb.GraphProto{}
	protos.Shallow(out, g)
	out.Node, out.Initializer = nil, nil
	own := map[string]bool{}
	for _, t := range g.GetInitializer() {
		own[t.GetName()] = true
		if h.constants[t.GetName()] == nil || !h.halved[t.GetName()] {
			out.Initializer = append(out.Initializer, t)
			continue
		}
		c, err := halfTensor(t)
		if err != nil {
			return nil, fmt.Errorf("initializer %q: %w", t.GetName(), err)
		}
		c.Name = proto.String(h.rename(t.GetName()))
		out.Initializer = append(out.Initializer, c)
	}
	for i, n := range g.GetNode() {
		nodes, err := h.node(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", protos.NodeTitle(n, i), err)
		}
		out.Node = append(out.Node, nodes...)
	}
	inputs := slices.DeleteFunc(slices.Clone(g.GetInput()), func(v *onnxpb.ValueInfoProto) bool { return own[v.GetName()] })
	out.Input, out.Output = h.infos(inputs), h.infos(g.GetOutput())
	out.ValueInfo = h.infos(g.GetValueInfo())
	return out, nil
}

// infos are declarations of values that are now float16, unless they stayed float32.
func (h *halver) infos(list []*onnxpb.ValueInfoProto) []*onnxpb.ValueInfoProto {
	var out []*onnxpb.ValueInfoProto
	for _, v := range list {
		c := proto.Clone(v).(*onnxpb.ValueInfoProto)
		c.Name = proto.String(h.rename(v.GetName()))
		stays := h.constants[v.GetName()] != nil && !h.halved[v.GetName()]
		if t := c.GetType().GetTensorType(); onnx.DType(t.GetElemType()) == onnx.Float32 && !stays {
			t.ElemType = proto.Int32(int32(onnx.Float16))
		}
		out = append(out, c)
	}
	return out
}

// border puts conversions between the inputs and outputs of the model and the graph inside.
func (h *halver) border(half, g *onnxpb.GraphProto, given, results []onnx.IO) {
	var first, last []*onnxpb.NodeProto
	done := map[string]bool{}
	for _, v := range given {
		if v.DType == onnx.Float32 {
			first, done[v.Name] = append(first, castNode(v.Name, h.rename(v.Name), onnx.Float16)), true
		}
	}
	for _, v := range results {
		if v.DType == onnx.Float32 && !done[v.Name] {
			last, done[v.Name] = append(last, castNode(h.rename(v.Name), v.Name, onnx.Float32)), true
		}
	}
	half.Node = slices.Concat(first, half.Node, last)
	fed := map[string]*onnxpb.ValueInfoProto{}
	for _, v := range g.GetInput() {
		fed[v.GetName()] = v
	}
	half.Input = nil
	for _, v := range given {
		half.Input = append(half.Input, fed[v.Name])
	}
	half.Output = g.Output
}

func castNode(from, to string, t onnx.DType) *onnxpb.NodeProto {
	n := operator("Cast", []string{from}, to, intAttribute("to", int64(t)))
	n.Name = proto.String(to + "/cast")
	return n
}
