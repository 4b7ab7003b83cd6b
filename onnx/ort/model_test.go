package ort

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/onnxpb"
)

// The models of these tests are written as protobuf messages, so that the
// session is judged apart from the graph builder.

type testNode struct {
	op      string
	in, out []string
}

func testValue(io onnx.IO) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range io.Shape {
		dim := &onnxpb.TensorShapeProto_Dimension{}
		if d.Known() {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d.Size}
		} else {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.Name}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	return &onnxpb.ValueInfoProto{Name: proto.String(io.Name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
			ElemType: proto.Int32(int32(io.DType)), Shape: shape,
		}},
	}}
}

func testModel(in, out []onnx.IO, metadata map[string]string, nodes ...testNode) *onnxpb.ModelProto {
	g := &onnxpb.GraphProto{Name: proto.String("test")}
	for _, n := range nodes {
		g.Node = append(g.Node, &onnxpb.NodeProto{OpType: proto.String(n.op), Input: n.in, Output: n.out})
	}
	for _, io := range in {
		g.Input = append(g.Input, testValue(io))
	}
	for _, io := range out {
		g.Output = append(g.Output, testValue(io))
	}
	m := &onnxpb.ModelProto{
		IrVersion:   proto.Int64(8),
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Graph:       g,
	}
	for k, v := range metadata {
		m.MetadataProps = append(m.MetadataProps, &onnxpb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)})
	}
	return m
}

func encode(t testing.TB, m *onnxpb.ModelProto) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sumModel computes sum = x + y over [rows 3] and its total.
func sumModel(t testing.TB, dtype onnx.DType) []byte {
	shape := onnx.Shape{onnx.Sym("rows"), onnx.Fix(3)}
	in := []onnx.IO{{Name: "x", DType: dtype, Shape: shape}, {Name: "y", DType: dtype, Shape: shape}}
	out := []onnx.IO{{Name: "sum", DType: dtype, Shape: shape}, {Name: "total", DType: dtype}}
	nodes := []testNode{{"Add", []string{"x", "y"}, []string{"sum"}}, {"ReduceSum", []string{"sum"}, []string{"total"}}}
	m := testModel(in, out, map[string]string{"owner": "pipe"}, nodes...)
	m.Graph.Node[1].Attribute = []*onnxpb.AttributeProto{{
		Name: proto.String("keepdims"), Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(0),
	}}
	return encode(t, m)
}
