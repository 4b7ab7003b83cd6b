package rewrite

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// rewriteOf is the rewrite for the change of an operator in a version; nil if it is not known.
func (r *raiser) rewriteOf(op string, version int64) func(*raiser, *onnxpb.NodeProto) []*onnxpb.NodeProto {
	switch {
	case version == 10 && op == "Slice":
		return attributesToInputs("starts", "ends", "axes")
	case version == 10 && op == "TopK":
		return attributesToInputs("k")
	case version == 11 && op == "Pad" && r.to >= castLike:
		return paddedLike
	case version == 11 && op == "Clip" && r.to >= castLike:
		return clippedLike
	case version == 12 && op == "Dropout":
		return without("ratio")
	case version == 13 && op == "Split":
		return attributesToInputs("split")
	case version == 13 && slices.Contains([]string{"Softmax", "LogSoftmax", "Hardmax"}, op):
		return flattened
	case version == 13: // Squeeze, Unsqueeze, ReduceSum
		return attributesToInputs("axes")
	case version == 18 && op == "Split":
		return countedOutputs
	case version == 18: // the other reductions
		return attributesToInputs("axes")
	}
	return nil
}

// attributesToInputs turns integers, one or a list per attribute, into inputs after the existing ones. Absent
// attributes stay absent.
func attributesToInputs(names ...string) func(*raiser, *onnxpb.NodeProto) []*onnxpb.NodeProto {
	return func(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
		c := without(names...)(r, n)[0]
		c.Input = slices.Clone(n.GetInput())
		var nodes []*onnxpb.NodeProto
		for _, name := range names {
			a := attributeOf(n, name)
			if a == nil {
				continue
			}
			values := a.GetInts()
			if a.GetType() == onnxpb.AttributeProto_INT {
				values = []int64{a.GetI()}
			}
			constant := r.constant(n, name, onnx.Int64s([]int64{int64(len(values))}, values))
			nodes = append(nodes, constant)
			c.Input = append(c.Input, constant.Output[0])
		}
		return append(nodes, c)
	}
}

// without removes attributes, such as the ratio of Dropout, which has no effect in inference.
func without(names ...string) func(*raiser, *onnxpb.NodeProto) []*onnxpb.NodeProto {
	return func(_ *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
		c := &onnxpb.NodeProto{}
		protos.Shallow(c, n)
		c.Attribute = nil
		for _, a := range n.GetAttribute() {
			if !slices.Contains(names, a.GetName()) {
				c.Attribute = append(c.Attribute, a)
			}
		}
		return []*onnxpb.NodeProto{c}
	}
}

// castLike is the first operator set in which a constant can take the type of a value whose type is not in the graph.
const castLike = 15

// clippedLike turns the bounds of Clip into inputs of the type of the values.
func clippedLike(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	c := without("min", "max")(r, n)[0]
	c.Input = slices.Clone(n.GetInput()[:1])
	var nodes []*onnxpb.NodeProto
	for _, name := range []string{"min", "max"} {
		input := ""
		if a := attributeOf(n, name); a != nil {
			nodes = append(nodes, r.like(n, name, a.GetF())...)
			input = nodes[len(nodes)-1].Output[0]
		}
		c.Input = append(c.Input, input)
	}
	return append(nodes, c)
}

// paddedLike turns the padding value of Pad into an input; 0 is the default.
func paddedLike(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	value := attributeOf(n, "value").GetF()
	nodes := attributesToInputs("pads")(r, without("value")(r, n)[0])
	if value == 0 {
		return nodes
	}
	more, c := r.like(n, "value", value), nodes[len(nodes)-1]
	c.Input = append(c.Input, more[1].Output[0])
	return slices.Concat(nodes[:len(nodes)-1], more, []*onnxpb.NodeProto{c})
}

// like makes a number of the type of a node's first input.
func (r *raiser) like(n *onnxpb.NodeProto, name string, value float32) []*onnxpb.NodeProto {
	constant := r.constant(n, name, onnx.Float32s(nil, []float32{value}))
	cast := r.names.fresh(n.GetOutput()[0] + "/" + name + "/like")
	return []*onnxpb.NodeProto{constant, operator("CastLike", []string{constant.Output[0], n.GetInput()[0]}, cast)}
}

// constant is a Constant node with the value of an attribute of n.
func (r *raiser) constant(n *onnxpb.NodeProto, name string, t *onnx.Tensor) *onnxpb.NodeProto {
	return operator("Constant", nil, r.names.fresh(n.GetOutput()[0]+"/"+name), &onnxpb.AttributeProto{
		Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: t.Proto(""),
	})
}

func attributeOf(n *onnxpb.NodeProto, name string) *onnxpb.AttributeProto {
	for _, a := range n.GetAttribute() {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// countedOutputs gives Split the number of equal parts as an attribute.
func countedOutputs(_ *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	c := &onnxpb.NodeProto{}
	protos.Shallow(c, n)
	c.Attribute = append(slices.Clone(n.GetAttribute()), intAttribute("num_outputs", int64(len(n.GetOutput()))))
	return []*onnxpb.NodeProto{c}
}

// flattened makes explicit that older versions of Softmax work on all axes from the given one on (by default the
// second) as one.
func flattened(r *raiser, n *onnxpb.NodeProto) []*onnxpb.NodeProto {
	axis := int64(1)
	for _, a := range n.GetAttribute() {
		if a.GetName() == "axis" {
			axis = a.GetI()
		}
	}
	in, out := n.GetInput()[0], n.GetOutput()[0]
	flat, values, shape := r.names.fresh(out+"/flat"), r.names.fresh(out+"/values"), r.names.fresh(out+"/shape")
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
