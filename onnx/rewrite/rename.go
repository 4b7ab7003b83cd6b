package rewrite

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// renamer copies graphs with other names. Constants are shared, not copied.
type renamer struct {
	prefix string            // put before names
	strip  string            // taken off names that begin with it
	names  map[string]string // exceptions from both
	dims   map[string]string // symbolic axes that get another name
}

func newRenamer(prefix string) *renamer {
	return &renamer{prefix: prefix, names: map[string]string{}, dims: map[string]string{}}
}

func (r *renamer) rename(name string) string {
	if name == "" {
		return ""
	}
	if n, ok := r.names[name]; ok {
		return n
	}
	return r.prefix + trimmed(name, r.strip)
}

func (r *renamer) all(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = r.rename(n)
	}
	return out
}

// unify checks that out can feed in, and gives the symbolic axes of in their names in out.
func (r *renamer) unify(out, in onnx.IO) error {
	if out.DType != in.DType {
		return fmt.Errorf("type %s into %s", out.DType, in.DType)
	}
	if out.Shape == nil || in.Shape == nil {
		return nil // unknown rank
	}
	if len(out.Shape) != len(in.Shape) {
		return fmt.Errorf("shape %s into %s", out.Shape, in.Shape)
	}
	for i, d := range out.Shape {
		e := in.Shape[i]
		switch {
		case d.Known() && e.Known() && d.Size != e.Size:
			return fmt.Errorf("shape %s into %s", out.Shape, in.Shape)
		case !d.Known() && !e.Known() && d.Name != "?" && e.Name != "?":
			r.dims[e.Name] = d.Name
		}
	}
	return nil
}

func (r *renamer) graph(g *onnxpb.GraphProto) *onnxpb.GraphProto {
	out := &onnxpb.GraphProto{Name: g.Name, DocString: g.DocString}
	for _, n := range g.GetNode() {
		out.Node = append(out.Node, r.node(n))
	}
	for _, t := range g.GetInitializer() {
		out.Initializer = append(out.Initializer, r.tensor(t))
	}
	for _, s := range g.GetSparseInitializer() {
		c := &onnxpb.SparseTensorProto{}
		protos.Shallow(c, s)
		c.Values = r.tensor(s.GetValues())
		out.SparseInitializer = append(out.SparseInitializer, c)
	}
	for _, q := range g.GetQuantizationAnnotation() {
		out.QuantizationAnnotation = append(out.QuantizationAnnotation, r.annotation(q))
	}
	out.Input = r.infos(g.GetInput())
	out.Output = r.infos(g.GetOutput())
	out.ValueInfo = r.infos(g.GetValueInfo())
	return out
}

func (r *renamer) tensor(t *onnxpb.TensorProto) *onnxpb.TensorProto {
	c := &onnxpb.TensorProto{}
	if t != nil {
		protos.Shallow(c, t)
	}
	c.Name = proto.String(r.rename(t.GetName()))
	return c
}

func (r *renamer) annotation(q *onnxpb.TensorAnnotation) *onnxpb.TensorAnnotation {
	c := proto.Clone(q).(*onnxpb.TensorAnnotation)
	c.TensorName = proto.String(r.rename(q.GetTensorName()))
	for _, p := range c.GetQuantParameterTensorNames() {
		p.Value = proto.String(r.rename(p.GetValue()))
	}
	return c
}

func (r *renamer) infos(list []*onnxpb.ValueInfoProto) []*onnxpb.ValueInfoProto {
	out := make([]*onnxpb.ValueInfoProto, len(list))
	for i, v := range list {
		c := proto.Clone(v).(*onnxpb.ValueInfoProto)
		c.Name = proto.String(r.rename(v.GetName()))
		for _, d := range c.GetType().GetTensorType().GetShape().GetDim() {
			if name, ok := r.dims[d.GetDimParam()]; ok && d.GetDimParam() != "" {
				d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: name}
			}
		}
		out[i] = c
	}
	return out
}

func (r *renamer) node(n *onnxpb.NodeProto) *onnxpb.NodeProto {
	c := &onnxpb.NodeProto{}
	protos.Shallow(c, n)
	if n.GetName() != "" {
		c.Name = proto.String(r.prefix + trimmed(n.GetName(), r.strip))
	}
	c.Input, c.Output = r.all(n.GetInput()), r.all(n.GetOutput())
	c.Attribute = nil
	for _, a := range n.GetAttribute() {
		c.Attribute = append(c.Attribute, r.attribute(a))
	}
	return c
}

func (r *renamer) attribute(a *onnxpb.AttributeProto) *onnxpb.AttributeProto {
	if a.GetG() == nil && len(a.GetGraphs()) == 0 {
		return a
	}
	c := &onnxpb.AttributeProto{}
	protos.Shallow(c, a)
	if a.GetG() != nil {
		c.G = r.graph(a.GetG())
	}
	c.Graphs = nil
	for _, g := range a.GetGraphs() {
		c.Graphs = append(c.Graphs, r.graph(g))
	}
	return c
}

// trimmed is a name without the prefix of Merge.
func trimmed(name, prefix string) string {
	if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
		return rest
	}
	return name
}
