package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/onnxpb"
	"pipe/onnx/rewrite"
)

// vocabularyModel projects hidden states onto words and scales them. The unscaled scores may have another reader:
// "output", or "loop", a graph inside a node.
func vocabularyModel(t *testing.T, reader string) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("words")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("b"), onnx.Sym("s"), onnx.Fix(2)})
	h := g.Relu(x)
	w := g.Const(onnx.Float32s([]int64{3, 2}, []float32{1, 2, 3, 4, 5, 6}))
	scores := g.MatMul(h, g.Transpose(w, 1, 0))
	switch reader {
	case "output":
		g.Output("raw", scores)
	case "loop":
		sums, _ := g.Loop(g.Scalar(onnx.Int64, 2), []*onnx.Value{scores}, func(b *onnx.Graph, _ *onnx.Value, c []*onnx.Value) (next, scan []*onnx.Value) {
			return []*onnx.Value{b.Add(c[0], scores)}, nil
		})
		g.Output("raw", sums[0])
	}
	g.Output("logits", g.Mul(scores, g.Const(onnx.Float32s(nil, []float32{0.5}))))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPickRowsGoesInFrontOfTheProjection: rows that are not picked are not computed, unless something else reads them.
func TestPickRowsGoesInFrontOfTheProjection(t *testing.T) {
	o := rewrite.PickOptions{Output: "logits", Rows: "rows", Picked: "picked"}
	for reader, want := range map[string]string{
		"":       "Relu Transpose GatherND MatMul Mul Cast",
		"output": "Relu Transpose MatMul GatherND Mul Cast",
		"loop":   "Relu Transpose MatMul Loop GatherND Mul Cast",
	} {
		m := vocabularyModel(t, reader)
		before, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		picked, err := rewrite.PickRows(m, o)
		if err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, n := range picked.Proto.GetGraph().GetNode() {
			if n.GetOpType() != "Constant" {
				ops = append(ops, n.GetOpType())
			}
		}
		if got := strings.Join(ops, " "); got != want {
			t.Errorf("reader %q: operators %s, want %s", reader, got, want)
		}
		outputs := picked.Outputs()
		if last := outputs[len(outputs)-1]; last.Name != "picked" || last.DType != onnx.Float32 || last.Shape.String() != "[rows.n 3]" {
			t.Errorf("output %v", last)
		}
		if after, err := m.Marshal(); err != nil || !slices.Equal(before, after) {
			t.Errorf("the model itself changed: %v", err)
		}
	}
}

func TestPickRowsErrors(t *testing.T) {
	m := vocabularyModel(t, "")
	for want, o := range map[string]rewrite.PickOptions{
		`pick rows of output "scores": the model has no such output`: {Output: "scores", Rows: "rows", Picked: "picked"},
		"defined twice": {Output: "logits", Rows: "x", Picked: "picked"},
	} {
		if _, err := rewrite.PickRows(m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	flat, err := rewrite.PickRows(m, rewrite.PickOptions{Output: "logits", Rows: "rows", Picked: "picked"})
	if err != nil {
		t.Fatal(err)
	}
	again := rewrite.PickOptions{Output: "picked", Rows: "rows2", Picked: "picked2"}
	if _, err := rewrite.PickRows(flat, again); err == nil || !strings.Contains(err.Error(), "expected three axes") {
		t.Errorf("got %v", err)
	}
}

// Nodes with missing inputs, which only the runtime can reject, are left unchanged.
func TestPickRowsLeavesOddNodes(t *testing.T) {
	for _, op := range []string{"Mul", "MatMul", "Transpose"} {
		m := vocabularyModel(t, "")
		for _, n := range m.Proto.GetGraph().GetNode() {
			if n.GetOpType() == op {
				n.Input = n.Input[:len(n.Input)-1]
			}
		}
		picked, err := rewrite.PickRows(m, rewrite.PickOptions{Output: "logits", Rows: "rows", Picked: "picked"})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		nodes := picked.Proto.GetGraph().GetNode()
		at := slices.IndexFunc(nodes, func(n *onnxpb.NodeProto) bool { return n.GetOpType() == "GatherND" })
		if at < 0 || op == "Mul" && at != len(nodes)-2 {
			t.Errorf("%s: rows are picked by node %d of %d", op, at, len(nodes))
		}
	}
}
