package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
	"pipe/onnx/ort/orttest"
	"pipe/onnx/rewrite"
)

func TestMergeComposes(t *testing.T) {
	first, second := onnxtest.Affine(t), onnxtest.Head(t, onnx.Sym("rows"), 17)
	m, err := rewrite.Merge(first, second, map[string]string{"y": "x"}, apart())
	if err != nil {
		t.Fatal(err)
	}
	x := onnx.Float64s([]int64{2, 2}, []float64{1, 0, 0, 2})
	shift := onnx.Float64s(nil, []float64{0.5})
	got := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"x": x, "shift": shift})
	mid := orttest.Evaluate(t, first, map[string]*onnx.Tensor{"x": x})
	want := orttest.Evaluate(t, second, map[string]*onnx.Tensor{"x": mid["y"], "shift": shift})
	if len(got) != 2 || !slices.Equal(got["z"].Float64s(), want["z"].Float64s()) {
		t.Errorf("z is %v, want %v", got["z"].Float64s(), want["z"].Float64s())
	}
	if s := m.Outputs()[0].Shape.String(); s != "[n 1]" {
		t.Errorf("z has shape %s, want the name of the first model's axis", s)
	}
	if meta := m.Metadata(); meta["a"] != "1" || meta["b"] != "head" || meta["c"] != "3" {
		t.Errorf("metadata is %v", meta)
	}
	if first.Check() != nil || second.Check() != nil {
		t.Error("a merged model was changed")
	}
}

func TestMergeRefusals(t *testing.T) {
	plain := map[string]string{"y": "x"}
	tests := []struct {
		want    string
		second  *onnx.Model
		connect map[string]string
		o       rewrite.MergeOptions
	}{
		{`no output "q"`, onnxtest.Head(t, onnx.Sym("n"), 17), map[string]string{"q": "x"}, apart()},
		{`no free input "q"`, onnxtest.Head(t, onnx.Sym("n"), 17), map[string]string{"y": "q"}, apart()},
		{`no free input "x"`, onnxtest.Head(t, onnx.Sym("n"), 17), map[string]string{"y": "x", "twice": "x"}, apart()},
		{"nothing is connected", onnxtest.Head(t, onnx.Sym("n"), 17), nil, apart()},
		{"shape [n 1] into []", onnxtest.Head(t, onnx.Sym("n"), 17), map[string]string{"y": "shift"}, apart()},
		{`initializer "first/w" is defined twice`, onnxtest.Head(t, onnx.Sym("n"), 17), plain, rewrite.MergeOptions{FirstPrefix: "first/", SecondPrefix: "first/"}},
		{"is defined twice", onnxtest.Head(t, onnx.Sym("n"), 17), plain, rewrite.MergeOptions{}},
	}
	for _, tt := range tests {
		_, err := rewrite.Merge(onnxtest.Affine(t), tt.second, tt.connect, tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

func TestMergeReconcilesOperatorSets(t *testing.T) {
	plain := map[string]string{"y": "x"}
	// affine has no operator that opset 18 changed, so it is raised.
	m, err := rewrite.Merge(onnxtest.Affine(t), onnxtest.Head(t, onnx.Sym("n"), 18), plain, apart())
	if err != nil {
		t.Fatal(err)
	}
	if v := m.Proto.OpsetImport[0].GetVersion(); v != 18 {
		t.Errorf("operator set %d, want 18", v)
	}
	// An unknown change is refused.
	first := onnxtest.Affine(t)
	first.Proto.Graph.Node[0].OpType = proto.String("GridSample")
	_, err = rewrite.Merge(first, onnxtest.Head(t, onnx.Sym("n"), 21), plain, apart())
	if err == nil || !strings.Contains(err.Error(), "(GridSample): changed with version 20") {
		t.Errorf("error is %v, want one about GridSample", err)
	}
}

// A negative size in a file is an open one.
func TestNegativeSizesAreOpen(t *testing.T) {
	g := onnx.NewGraph("open")
	x := g.Input("x", onnx.Float64, onnx.Shape{onnx.Fix(-1), onnx.Fix(1)})
	g.Output("y", g.Add(x, x))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Concat(m.Inputs(), m.Outputs()) {
		if v.Shape.String() != "[? 1]" {
			t.Errorf("%s has shape %s", v.Name, v.Shape)
		}
	}
	if _, err := rewrite.Merge(m, onnxtest.Head(t, onnx.Fix(4), 17), map[string]string{"y": "x"}, apart()); err != nil {
		t.Error(err)
	}
}

// Functions, quantisation annotations and renamed values survive a merge.
func TestMergeFunctions(t *testing.T) {
	withFunction := func(m *onnx.Model, op string) *onnx.Model {
		m.Proto.Functions = []*onnxpb.FunctionProto{{
			Name: proto.String("twice"), Domain: proto.String("local"),
			Input: []string{"a"}, Output: []string{"b"},
			OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
			Node:        []*onnxpb.NodeProto{{OpType: proto.String(op), Input: []string{"a", "a"}, Output: []string{"b"}}},
		}}
		m.Proto.Graph.QuantizationAnnotation = []*onnxpb.TensorAnnotation{{TensorName: proto.String("w")}}
		return m
	}
	plain, o := map[string]string{"y": "x"}, apart()
	m, err := rewrite.Merge(withFunction(onnxtest.Affine(t), "Add"), withFunction(onnxtest.Head(t, onnx.Sym("n"), 17), "Add"), plain, o)
	if err != nil {
		t.Fatal(err)
	}
	notes := m.Proto.Graph.QuantizationAnnotation
	if len(m.Proto.Functions) != 1 || len(notes) != 2 || notes[0].GetTensorName() != "first/w" || notes[1].GetTensorName() != "second/w" {
		t.Errorf("%d functions, notes %v", len(m.Proto.Functions), notes)
	}
	_, err = rewrite.Merge(withFunction(onnxtest.Affine(t), "Add"), withFunction(onnxtest.Head(t, onnx.Sym("n"), 17), "Mul"), plain, o)
	if err == nil || !strings.Contains(err.Error(), `function "twice", in different ways`) {
		t.Errorf("error is %v", err)
	}
	broken := withFunction(onnxtest.Affine(t), "Add")
	broken.Proto.Functions[0].Output = []string{"c"}
	if err := broken.Check(); err == nil || !strings.Contains(err.Error(), `function "twice": output "c"`) {
		t.Errorf("error is %v", err)
	}
}

// apart keeps the names of both models apart.
func apart() rewrite.MergeOptions {
	return rewrite.MergeOptions{Name: "merged", FirstPrefix: "first/", SecondPrefix: "second/"}
}
