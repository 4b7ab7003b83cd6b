package rewrite

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// node is n in float16, with conversions around the parts that stay in float32.
func (h *halver) node(n *onnxpb.NodeProto) ([]*onnxpb.NodeProto, error) {
	c := &onnxpb.NodeProto{}
	protos.Shallow(c, n)
	c.Input, c.Output = nil, nil
	stay := h.single(n)
	var before, after []*onnxpb.NodeProto
	for i, name := range n.GetInput() {
		if !slices.Contains(stay.in, i) || h.types[name] != onnx.Float32 {
			c.Input = append(c.Input, h.rename(name))
			continue
		}
		single, node := h.inSingle(name)
		before, c.Input = append(before, node...), append(c.Input, single)
	}
	for i, name := range n.GetOutput() {
		to := h.rename(name)
		if name != "" && slices.Contains(stay.out, i) && h.types[name] == onnx.Float32 {
			single := h.names.fresh(name + "/float32")
			after = append(after, castNode(single, to, onnx.Float16))
			to = single
		}
		c.Output = append(c.Output, to)
	}
	if n.GetOpType() == "Constant" && slices.IndexFunc(n.GetOutput(), func(name string) bool { return h.halved[name] }) < 0 {
		return []*onnxpb.NodeProto{c}, nil
	}
	if err := h.attributes(c); err != nil {
		return nil, err
	}
	return slices.Concat(before, []*onnxpb.NodeProto{c}, after), nil
}

// inSingle is the name of a value in float32, and the node that makes it.
func (h *halver) inSingle(name string) (string, []*onnxpb.NodeProto) {
	t := h.constants[name]
	if t != nil && !h.halved[name] {
		return name, nil
	}
	single := h.names.fresh(name + "/float32")
	if t == nil {
		return single, []*onnxpb.NodeProto{castNode(h.rename(name), single, onnx.Float32)}
	}
	value := &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: t}
	return single, []*onnxpb.NodeProto{operator("Constant", nil, single, value)}
}

// attributes rewrites the tensors and graphs in a node's attributes.
func (h *halver) attributes(n *onnxpb.NodeProto) error {
	list := withDefaults(n)
	n.Attribute = nil
	for _, a := range list {
		c, err := h.attribute(n.GetOpType(), a)
		if err != nil {
			return fmt.Errorf("attribute %q: %w", a.GetName(), err)
		}
		n.Attribute = append(n.Attribute, c)
	}
	return nil
}

func (h *halver) attribute(op string, a *onnxpb.AttributeProto) (*onnxpb.AttributeProto, error) {
	switch {
	case op == "Constant" && constantOf(a) != nil:
		return halfAttribute(constantOf(a))
	case op == "ConstantOfShape" && onnx.DType(a.GetT().GetDataType()) == onnx.Float32:
		return halfAttribute(a.GetT())
	}
	c, err := withGraphs(a, h.graph)
	if err == nil && (a.GetName() == "to" || a.GetName() == "dtype") && onnx.DType(a.GetI()) == onnx.Float32 {
		c.I = proto.Int64(int64(onnx.Float16))
	}
	return c, err
}

func halfAttribute(t *onnxpb.TensorProto) (*onnxpb.AttributeProto, error) {
	half, err := halfTensor(t)
	return &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: half}, err
}

func halfTensor(p *onnxpb.TensorProto) (*onnxpb.TensorProto, error) {
	t, err := onnx.TensorFrom(p)
	if err != nil {
		return nil, err
	}
	return rounded(t).Proto(p.GetName()), nil
}
