package rewrite

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// singles are inputs and outputs of a node, by position.
type singles struct{ in, out []int }

// float32Only are the arguments that are float32 in every version of the operator set, or that need float32 precision
// for quantisation. If they have other types, they are left unchanged.
var float32Only = map[string]singles{
	"Celu":                  {[]int{0}, []int{0}},
	"DequantizeLinear":      {[]int{1}, []int{0}},
	"DynamicQuantizeLinear": {[]int{0}, []int{1}},
	"IsInf":                 {[]int{0}, nil},
	"LayerNormalization":    {nil, []int{1, 2}}, // mean and deviation
	"NonMaxSuppression":     {[]int{0, 1, 3, 4}, nil},
	"QLinearConv":           {[]int{1, 4, 6}, nil},
	"QLinearMatMul":         {[]int{1, 4, 6}, nil},
	"QuantizeLinear":        {[]int{0, 1}, nil},
	"Range":                 {[]int{0, 1, 2}, []int{0}},
	"Resize":                {[]int{1, 2}, nil},
	"TfIdfVectorizer":       {nil, []int{0}},
	"Upsample":              {[]int{1}, nil},
}

// single lists the arguments of a node that stay in float32.
func (h *halver) single(n *onnxpb.NodeProto) singles {
	if n.GetOpType() == "CumSum" && h.opset < 14 {
		return singles{[]int{0}, []int{0}}
	}
	return float32Only[n.GetOpType()]
}

// note records the types and constants of a graph and of nested graphs. For values it only matters whether they are
// float32.
func (h *halver) note(g *onnxpb.GraphProto) error {
	if len(g.GetSparseInitializer()) > 0 {
		return fmt.Errorf("weights %q are sparse", g.GetSparseInitializer()[0].GetValues().GetName())
	}
	for _, v := range slices.Concat(g.GetInput(), g.GetValueInfo(), g.GetOutput()) {
		h.types[v.GetName()] = onnx.DType(v.GetType().GetTensorType().GetElemType())
	}
	for _, t := range g.GetInitializer() {
		h.constant(t.GetName(), t)
	}
	for i, n := range g.GetNode() {
		if protos.Domain(n.GetDomain()) != protos.Domain("") {
			return fmt.Errorf("node %s is of the operator set %q", protos.NodeTitle(n, i), n.GetDomain())
		}
		for _, inner := range subgraphs(n) {
			if err := h.note(inner); err != nil {
				return err
			}
		}
		h.outputs(n)
	}
	return nil
}

func (h *halver) constant(name string, t *onnxpb.TensorProto) {
	h.types[name] = onnx.DType(t.GetDataType())
	if h.types[name] == onnx.Float32 {
		h.constants[name] = t
	}
}

// outputs records the types of a node's outputs that are not declared.
func (h *halver) outputs(n *onnxpb.NodeProto) {
	for i, name := range n.GetOutput() {
		if h.types[name] == onnx.Undefined {
			h.types[name] = h.typeOf(n, i)
		}
	}
	if n.GetOpType() != "Constant" || len(n.GetOutput()) == 0 {
		return
	}
	for _, a := range n.GetAttribute() {
		if t := constantOf(a); t != nil {
			h.constant(n.GetOutput()[0], t)
		}
	}
}

// resultTypes are the types for operators whose first output differs in type from the first input.
var resultTypes = map[string]onnx.DType{
	"And": onnx.Bool, "Equal": onnx.Bool, "Greater": onnx.Bool, "GreaterOrEqual": onnx.Bool, "IsInf": onnx.Bool, "IsNaN": onnx.Bool, "Less": onnx.Bool, "LessOrEqual": onnx.Bool,
	"Not": onnx.Bool, "Or": onnx.Bool, "Xor": onnx.Bool,
	"ArgMax": onnx.Int64, "ArgMin": onnx.Int64, "NonMaxSuppression": onnx.Int64, "NonZero": onnx.Int64, "Shape": onnx.Int64, "Size": onnx.Int64,
	"ConvInteger": onnx.Int32, "MatMulInteger": onnx.Int32, "DynamicQuantizeLinear": onnx.Uint8, "QuantizeLinear": onnx.Uint8,
	"QLinearConv": onnx.Uint8, "QLinearMatMul": onnx.Uint8,
	"DequantizeLinear": onnx.Float32, "RandomNormal": onnx.Float32, "RandomUniform": onnx.Float32, "TfIdfVectorizer": onnx.Float32,
}

// typeOf is the type of an output of a node; Undefined if it is not known.
func (h *halver) typeOf(n *onnxpb.NodeProto, output int) onnx.DType {
	op, in := n.GetOpType(), n.GetInput()
	inputType := func(i int) onnx.DType {
		if i < len(in) {
			return h.types[in[i]]
		}
		return onnx.Undefined
	}
	switch op {
	case "Cast":
		for _, a := range n.GetAttribute() {
			if a.GetName() == "to" {
				return onnx.DType(a.GetI())
			}
		}
	case "Where", "CastLike":
		return inputType(1)
	case "OneHot":
		return inputType(2)
	case "ConstantOfShape":
		if len(n.GetAttribute()) == 0 {
			return onnx.Float32
		}
		return onnx.DType(n.GetAttribute()[0].GetT().GetDataType())
	case "If":
		return h.typeInside(n, output)
	case "Loop":
		return h.typeInside(n, output+1)
	case "Scan":
		return h.typeInside(n, output)
	}
	switch t := resultTypes[op]; {
	case op == "DynamicQuantizeLinear" && output == 1, op == "LayerNormalization" && output > 0:
		return onnx.Float32
	case output > 0 && slices.Contains([]string{"TopK", "MaxPool", "Unique"}, op):
		return onnx.Int64
	case output > 0 && op == "Dropout":
		return onnx.Bool
	case t != onnx.Undefined:
		return t
	}
	return inputType(0)
}

// typeInside is the type of an output of the first graph inside a node.
func (h *halver) typeInside(n *onnxpb.NodeProto, output int) onnx.DType {
	for _, g := range subgraphs(n) {
		if output < len(g.GetOutput()) {
			return h.types[g.GetOutput()[output].GetName()]
		}
	}
	return onnx.Undefined
}

// constantOf is the value of a Constant node, if it is float32.
func constantOf(a *onnxpb.AttributeProto) *onnxpb.TensorProto {
	switch a.GetName() {
	case "value":
		if onnx.DType(a.GetT().GetDataType()) == onnx.Float32 {
			return a.GetT()
		}
	case "value_float":
		return onnx.Float32s([]int64{}, []float32{a.GetF()}).Proto("")
	case "value_floats":
		return onnx.Float32s([]int64{int64(len(a.GetFloats()))}, a.GetFloats()).Proto("")
	}
	return nil
}

// withDefaults are the attributes of a node, with float32 defaults made explicit.
func withDefaults(n *onnxpb.NodeProto) []*onnxpb.AttributeProto {
	list := slices.Clone(n.GetAttribute())
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(a *onnxpb.AttributeProto) bool { return a.GetName() == name })
	}
	switch op := n.GetOpType(); {
	case op == "ConstantOfShape" && !has("value"):
		list = append(list, &onnxpb.AttributeProto{
			Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: onnx.Float32s([]int64{1}, []float32{0}).Proto(""),
		})
	case (op == "RandomNormal" || op == "RandomUniform") && !has("dtype"):
		list = append(list, intAttribute("dtype", int64(onnx.Float32)))
	}
	return list
}
