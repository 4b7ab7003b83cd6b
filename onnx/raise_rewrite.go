package onnx

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/onnxpb"
)

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
		input := r.names.fresh(n.GetOutput()[0] + "/" + name)
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
