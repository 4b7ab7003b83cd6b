package onnx_test

import (
	"fmt"
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/rewrite"
)

// stump sends column 1 of a row left of 0.5, and NaN with it.
func stump() []onnx.TreeNode {
	return []onnx.TreeNode{
		{Column: 1, Threshold: 0.5, MissingTrue: true, True: 1, False: 2},
		{Weight: -1},
		{Weight: 2},
	}
}

// forest is a stump and a constant, followed by a logistic function.
func forest(t *testing.T, o onnx.BuildOptions) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("forest")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(2)})
	g.Output("p", g.Sigmoid(g.TreeEnsemble(x, [][]onnx.TreeNode{stump(), {{Weight: 0.25}}}, 3)))
	m, err := g.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTreeEnsemble(t *testing.T) {
	m := forest(t, onnx.BuildOptions{})
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if out := m.Outputs()[0]; out.Shape.String() != "[n 1]" || out.DType != onnx.Float32 {
		t.Errorf("output is %s %s", out.DType, out.Shape)
	}
	sets := m.Proto.GetOpsetImport()
	if len(sets) != 2 || sets[1].GetDomain() != "ai.onnx.ml" || sets[1].GetVersion() != 3 {
		t.Errorf("operator sets are %v", sets)
	}
	m.Proto.OpsetImport = sets[:1]
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), `operator set "ai.onnx.ml" is not imported`) {
		t.Errorf("without the import: %v", err)
	}
}

// TestTreeEnsembles: a column per target, whose leaves name it.
func TestTreeEnsembles(t *testing.T) {
	build := func(targets [][][]onnx.TreeNode, base []float32) (*onnx.Model, error) {
		g := onnx.NewGraph("targets")
		g.Output("y", g.TreeEnsembles(g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(2)}), targets, base))
		return g.Build(onnx.BuildOptions{})
	}
	m, err := build([][][]onnx.TreeNode{{stump(), {{Weight: 1}}}, {{{Weight: 0.25}}}}, []float32{3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if out := m.Outputs()[0]; out.Shape.String() != "[n 2]" {
		t.Errorf("output is %s", out.Shape)
	}
	ints := map[string]string{}
	for _, a := range m.Proto.GetGraph().GetNode()[0].GetAttribute() {
		ints[a.GetName()] = fmt.Sprint(a.GetInts(), a.GetFloats())
	}
	for name, want := range map[string]string{
		"target_ids": "[0 0 0 1] []", "target_treeids": "[0 0 1 2] []", "target_nodeids": "[1 2 0 0] []",
		"target_weights": "[] [-1 2 1 0.25]", "base_values": "[] [3 4]", "nodes_treeids": "[0 0 0 1 2] []",
	} {
		if ints[name] != want {
			t.Errorf("%s is %s, want %s", name, ints[name], want)
		}
	}
	for want, base := range map[string][]float32{"1 base values for 2 targets": {3}, "target 1: no trees": {3, 4}} {
		if _, err := build([][][]onnx.TreeNode{{stump()}, {}}, base); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestTreeEnsembleInMerge: the nodes keep their operator set.
func TestTreeEnsembleInMerge(t *testing.T) {
	g := onnx.NewGraph("scale")
	x := g.Input("raw", onnx.Float32, onnx.Shape{onnx.Sym("rows"), onnx.Fix(2)})
	g.Output("scaled", g.Mul(x, g.Scalar(onnx.Float32, 2)))
	scale, err := g.Build(onnx.BuildOptions{Opset: 18})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rewrite.Merge(scale, forest(t, onnx.BuildOptions{}), map[string]string{"scaled": "x"}, rewrite.MergeOptions{Name: "merged", FirstPrefix: "first/", SecondPrefix: "second/"})
	if err != nil {
		t.Fatal(err)
	}
	if sets := m.Proto.GetOpsetImport(); len(sets) != 2 || m.Outputs()[0].Shape.String() != "[rows 1]" {
		t.Errorf("operator sets %v, outputs %v", sets, m.Outputs())
	}
}

func TestTreeEnsembleErrors(t *testing.T) {
	leaf := onnx.TreeNode{Weight: 1}
	for want, trees := range map[string][][]onnx.TreeNode{
		"no trees":                               {},
		"tree 1: no nodes":                       {stump(), {}},
		"tree 0: node 0: column 2 of 2":          {{{Column: 2, True: 1, False: 2}, leaf, leaf}},
		"tree 0: node 0: child 3 is not a later": {{{True: 1, False: 3}, leaf, leaf}},
		"tree 0: node 0: child 1 is not a later": {{{True: 1, False: 1}, leaf, leaf}},
		"tree 0: node 1: child 1 is not a later": {{{True: 1, False: 2}, {True: 1, False: 3}, leaf, leaf}},
		"tree 0: node 1: is not the child of an": {{leaf, leaf}},
	} {
		g := onnx.NewGraph("wrong")
		x := g.Input("x", onnx.Float32, onnx.Dims(4, 2))
		g.TreeEnsemble(x, trees, 0)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	g := onnx.NewGraph("double")
	g.TreeEnsemble(g.Input("x", onnx.Float64, onnx.Dims(4, 2)), [][]onnx.TreeNode{stump()}, 0)
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "rows are float64 [4 2]") {
		t.Errorf("error is %v", err)
	}
}

// TestTreeEnsembleGradient: the gradient does not exist, so it is an error.
func TestTreeEnsembleGradient(t *testing.T) {
	g := onnx.NewGraph("gradient")
	x := g.Input("x", onnx.Float32, onnx.Dims(4, 2))
	loss := g.ReduceSum(g.TreeEnsemble(x, [][]onnx.TreeNode{stump()}, 0), false)
	if _, err := g.Gradients(loss, x); err == nil || !strings.Contains(err.Error(), "TreeEnsembleRegressor") {
		t.Errorf("error is %v", err)
	}
}
