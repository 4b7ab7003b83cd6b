package onnx_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
)

func TestCheckFindsDamage(t *testing.T) {
	external := func(location, offset string) func(*onnxpb.ModelProto) {
		return func(m *onnxpb.ModelProto) {
			w := m.Graph.Initializer[0]
			w.RawData, w.DataLocation = nil, onnxpb.TensorProto_EXTERNAL.Enum()
			w.ExternalData = []*onnxpb.StringStringEntryProto{
				{Key: proto.String("location"), Value: proto.String(location)},
				{Key: proto.String("offset"), Value: proto.String(offset)},
			}
		}
	}
	tests := []struct {
		want   string
		damage func(m *onnxpb.ModelProto)
	}{
		{"IR version 0", func(m *onnxpb.ModelProto) { m.IrVersion = nil }},
		{"no operator set", func(m *onnxpb.ModelProto) { m.OpsetImport = nil }},
		{"imported twice", func(m *onnxpb.ModelProto) { m.OpsetImport = append(m.OpsetImport, m.OpsetImport[0]) }},
		{`operator set "com.example" is not imported`, func(m *onnxpb.ModelProto) { m.Graph.Node[0].Domain = proto.String("com.example") }},
		{`input "gone" is not defined anywhere`, func(m *onnxpb.ModelProto) { m.Graph.Node[1].Input[0] = "gone" }},
		{"a cycle", func(m *onnxpb.ModelProto) { m.Graph.Node[0].Input[0] = m.Graph.Node[1].Output[0] }},
		{"a cycle", func(m *onnxpb.ModelProto) { m.Graph.Node[0].Input[0] = m.Graph.Node[0].Output[0] }},
		{"produced by a later node", func(m *onnxpb.ModelProto) {
			n := m.Graph.Node
			n[0], n[1] = n[1], n[0]
		}},
		{`"y" is defined twice`, func(m *onnxpb.ModelProto) { m.Graph.Node[2].Output[0] = "y" }},
		{`output "nothing" is produced by nothing`, func(m *onnxpb.ModelProto) { m.Graph.Output[0].Name = proto.String("nothing") }},
		{`initializer "w" is defined twice`, func(m *onnxpb.ModelProto) { m.Graph.Initializer[1].Name = proto.String("w") }},
		{"8 bytes for float64 of shape [2 1]", func(m *onnxpb.ModelProto) { m.Graph.Initializer[0].RawData = make([]byte, 8) }},
		{"negative size", func(m *onnxpb.ModelProto) { m.Graph.Initializer[0].Dims = []int64{-1, -2} }},
		{"too large", func(m *onnxpb.ModelProto) { m.Graph.Initializer[0].Dims = []int64{1 << 40, 1 << 40} }},
		{"no operator", func(m *onnxpb.ModelProto) { m.Graph.Node[0].OpType = nil }},
		{"twice or without a name", func(m *onnxpb.ModelProto) {
			m.Graph.Node[0].Attribute = []*onnxpb.AttributeProto{{Name: proto.String("k")}, {Name: proto.String("k")}}
		}},
		{"no graph", func(m *onnxpb.ModelProto) {
			m.Graph.Node[0].Attribute = []*onnxpb.AttributeProto{{Name: proto.String("k"), Type: onnxpb.AttributeProto_GRAPH.Enum()}}
		}},
		{"not inside the model's folder", external("../secret", "0")},
		{"not inside the model's folder", external("/etc/passwd", "0")},
		{"not inside the model's folder", external(`..\secret`, "0")},
		{"not inside the model's folder", external("C:/secret", "0")},
		{"offset -1", external("w.bin", "-1")},
		{`offset "x"`, external("w.bin", "x")},
	}
	for _, tt := range tests {
		m := onnxtest.Affine(t)
		tt.damage(m.Proto)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

func TestParseRefusesOtherFiles(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("not a model"), {0x08, 0x08}, []byte("{\"json\": 1}")} {
		if _, err := onnx.Parse(b); err == nil {
			t.Errorf("%q was read", b)
		}
	}
}
