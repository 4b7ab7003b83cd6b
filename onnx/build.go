package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/onnxpb"
)

// BuildOptions are the versions in which a model is written.
type BuildOptions struct {
	Opset     int64 // of the standard operators, 16 to 21; 0 is 17
	IRVersion int64 // of the file format, at least 4; 0 is 8
}

// Build makes the model. Nodes and constants that no output needs are left out. The same calls on a graph give the same
// model, including names. The error is the first error of any op, or says what is missing from the graph.
func (g *Graph) Build(o BuildOptions) (*Model, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if g.parent != nil {
		return nil, fmt.Errorf("build graph %q: it is within another one", g.name)
	}
	if len(g.outputs) == 0 {
		return nil, fmt.Errorf("build graph %q: no outputs", g.name)
	}
	if o.Opset == 0 {
		o.Opset = 17
	}
	if o.IRVersion == 0 {
		o.IRVersion = 8
	}
	if o.Opset < 16 || o.Opset > 21 || o.IRVersion < 4 {
		return nil, fmt.Errorf("build graph %q: opset %d with IR version %d", g.name, o.Opset, o.IRVersion)
	}
	w := &writer{opset: o.Opset, names: g.shared.names, live: map[any]bool{}, domains: map[string]int64{}}
	for _, v := range g.outputs {
		w.mark(v)
	}
	m := &Model{Proto: &onnxpb.ModelProto{
		IrVersion: proto.Int64(o.IRVersion),
		Graph:     w.graph(g),
	}}
	if w.err != nil {
		return nil, fmt.Errorf("build graph %q: %w", g.name, w.err)
	}
	m.Proto.OpsetImport = append(m.Proto.OpsetImport, opsetID("", o.Opset))
	for _, domain := range slices.Sorted(maps.Keys(w.domains)) {
		m.Proto.OpsetImport = append(m.Proto.OpsetImport, opsetID(domain, w.domains[domain]))
	}
	return m, nil
}

func opsetID(domain string, version int64) *onnxpb.OperatorSetIdProto {
	return &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(version)}
}

// writer turns graphs into their file form.
type writer struct {
	opset   int64
	names   map[string]bool
	live    map[any]bool     // nodes and constants that an output needs
	domains map[string]int64 // operator sets in use besides the standard one
	err     error            // the first node that is not in the operator set
}

// since lists the ops that are missing from the oldest operator set of Build.
var since = map[string]int64{"LayerNormalization": 17}

func (w *writer) mark(v *Value) {
	v = v.base()
	if v.init != nil {
		w.live[v] = true
	}
	if v.node == nil || w.live[v.node] {
		return
	}
	w.live[v.node] = true
	for _, in := range v.node.in {
		if in != nil {
			w.mark(in)
		}
	}
	for _, body := range v.node.bodies {
		for _, out := range body.outputs {
			w.mark(out)
		}
	}
}

func (w *writer) graph(g *Graph) *onnxpb.GraphProto {
	p := &onnxpb.GraphProto{Name: proto.String(g.name)}
	for _, v := range g.inputs {
		p.Input = append(p.Input, ValueInfo(v.Name(), v.dtype, v.shape))
	}
	for _, v := range g.outputs {
		p.Output = append(p.Output, ValueInfo(v.Name(), v.dtype, v.shape))
	}
	for _, v := range g.inits {
		if w.live[v] {
			p.Initializer = append(p.Initializer, v.init.Proto(v.name))
		}
	}
	for _, n := range g.nodes {
		if w.live[n] {
			p.Node = append(p.Node, w.node(p, n))
		}
	}
	return p
}

// ValueInfo declares a tensor in a model file: its name, its type and its shape. A nil shape means a scalar.
func ValueInfo(name string, t DType, s Shape) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range s {
		dim := &onnxpb.TensorShapeProto_Dimension{}
		if d.Known() {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d.Size}
		} else {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.Name}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	tensor := &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}
	return &onnxpb.ValueInfoProto{
		Name: proto.String(name),
		Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: tensor}},
	}
}

func (w *writer) node(g *onnxpb.GraphProto, n *node) *onnxpb.NodeProto {
	p := &onnxpb.NodeProto{OpType: proto.String(n.op), Name: proto.String(n.name)}
	if first := since[n.op]; w.opset < first && w.err == nil {
		w.err = fmt.Errorf("%s needs opset %d, not %d", n.op, first, w.opset)
	}
	if domain, version := domainOf(n.op); domain != "" {
		p.Domain = proto.String(domain)
		w.domains[domain] = version
	}
	for _, v := range n.in {
		name := ""
		if v != nil {
			name = v.Name()
		}
		p.Input = append(p.Input, name)
	}
	for _, v := range n.out {
		p.Output = append(p.Output, v.name)
	}
	attrs := slices.SortedFunc(slices.Values(n.attrs), func(a, b attr) int { return strings.Compare(a.name, b.name) })
	for _, a := range attrs {
		if a.name == "axes" && w.axesAreInput(n.op) {
			p.Input = append(p.Input, w.axes(g, a.value.([]int64)))
			continue
		}
		p.Attribute = append(p.Attribute, attribute(a))
	}
	for i, body := range n.bodies {
		p.Attribute = append(p.Attribute, &onnxpb.AttributeProto{
			Name: proto.String(bodyNames[n.op][i]), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: w.graph(body),
		})
	}
	return p
}

// bodyNames are the attributes for the graphs within a node, by op.
var bodyNames = map[string][]string{"Loop": {"body"}, "If": {"then_branch", "else_branch"}}

// axesAreInput reports whether the axes of an op are an input or still an attribute: the remaining reductions changed
// with opset 18.
func (w *writer) axesAreInput(op string) bool {
	switch op {
	case "ReduceSum", "Squeeze", "Unsqueeze":
		return true
	}
	return w.opset >= 18
}

// axes finds or adds the constant that lists axes. It is in the graph itself, not in an enclosing one, so that
// optimisers of the runtime see it.
func (w *writer) axes(g *onnxpb.GraphProto, axes []int64) string {
	name := "axes"
	if g.GetName() != "" {
		name = g.GetName() + "_axes"
	}
	for _, a := range axes {
		name += fmt.Sprintf("_%d", a)
	}
	for _, t := range g.Initializer {
		if t.GetName() == name {
			return name
		}
	}
	for w.names[name] {
		name += "_"
	}
	t := Int64s([]int64{int64(len(axes))}, axes)
	g.Initializer = append(g.Initializer, t.Proto(name))
	return name
}

func attribute(a attr) *onnxpb.AttributeProto {
	p := &onnxpb.AttributeProto{Name: proto.String(a.name)}
	switch v := a.value.(type) {
	case int64:
		p.Type, p.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(v)
	case float32:
		p.Type, p.F = onnxpb.AttributeProto_FLOAT.Enum(), proto.Float32(v)
	case string:
		p.Type, p.S = onnxpb.AttributeProto_STRING.Enum(), []byte(v)
	case []int64:
		p.Type, p.Ints = onnxpb.AttributeProto_INTS.Enum(), v
	case []float32:
		p.Type, p.Floats = onnxpb.AttributeProto_FLOATS.Enum(), v
	case []string:
		p.Type = onnxpb.AttributeProto_STRINGS.Enum()
		for _, s := range v {
			p.Strings = append(p.Strings, []byte(s))
		}
	case *Tensor:
		p.Type, p.T = onnxpb.AttributeProto_TENSOR.Enum(), v.Proto("")
	default:
		panic(fmt.Sprintf("onnx: attribute %s of type %T", a.name, v))
	}
	return p
}
