package onnx_test

import (
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
)

// vocabularyModel projects hidden states onto words, scales them and, where
// watched, gives the unscaled scores away, too.
func vocabularyModel(t *testing.T, watched bool) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("words")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("b"), onnx.Sym("s"), onnx.Fix(2)})
	h := g.Relu(x)
	w := g.Const(onnx.Float32s([]int64{3, 2}, []float32{1, 2, 3, 4, 5, 6}))
	scores := g.MatMul(h, g.Transpose(w, 1, 0))
	if watched {
		g.Output("raw", scores)
	}
	g.Output("logits", g.Mul(scores, g.Const(onnx.Float32s(nil, []float32{0.5}))))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPickRowsGoesInFrontOfTheProjection: what is not picked is not computed,
// unless somebody else wants it.
func TestPickRowsGoesInFrontOfTheProjection(t *testing.T) {
	o := onnx.PickOptions{Output: "logits", Rows: "rows", Picked: "picked"}
	for watched, want := range map[bool]string{
		false: "Relu Transpose GatherND MatMul Mul Cast",
		true:  "Relu Transpose MatMul GatherND Mul Cast",
	} {
		m := vocabularyModel(t, watched)
		before, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		picked, err := onnx.PickRows(m, o)
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
			t.Errorf("watched %v: operators %s, want %s", watched, got, want)
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
	m := vocabularyModel(t, false)
	for want, o := range map[string]onnx.PickOptions{
		`pick rows of output "scores": the model has no such output`: {Output: "scores", Rows: "rows", Picked: "picked"},
		"defined twice": {Output: "logits", Rows: "x", Picked: "picked"},
	} {
		if _, err := onnx.PickRows(m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	flat, err := onnx.PickRows(m, onnx.PickOptions{Output: "logits", Rows: "rows", Picked: "picked"})
	if err != nil {
		t.Fatal(err)
	}
	again := onnx.PickOptions{Output: "picked", Rows: "rows2", Picked: "picked2"}
	if _, err := onnx.PickRows(flat, again); err == nil || !strings.Contains(err.Error(), "three axes are needed") {
		t.Errorf("got %v", err)
	}
}
