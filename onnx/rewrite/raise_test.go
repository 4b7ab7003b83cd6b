package rewrite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/internal/judge"
	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
	"pipe/onnx/rewrite"
)

// oldModel writes a network of operator set 11 with operators that later sets interpret differently.
const oldModel = `
import sys, onnx
from onnx import helper as h, TensorProto as T
def node(op, i, o, **a): return h.make_node(op, i.split(), o.split(), name=o.split()[0], **a)
then = h.make_graph([node("ReduceSum", "x", "t", axes=[2], keepdims=1)], "then", [], [h.make_tensor_value_info("t", T.FLOAT, None)])
other = h.make_graph([node("Softmax", "x", "e", axis=2)], "else", [], [h.make_tensor_value_info("e", T.FLOAT, None)])
g = h.make_graph([
    node("Softmax", "x", "a"), node("LogSoftmax", "x", "b", axis=2), node("Softmax", "x", "c", axis=-1),
    node("Unsqueeze", "a", "d", axes=[0, 2]), node("Squeeze", "d", "a/axes", axes=[0, 2]),
    node("ReduceSum", "x", "f", axes=[1, -1], keepdims=1), node("ReduceMean", "x", "g", axes=[1], keepdims=1), node("ReduceMax", "x", "i", keepdims=1),
    node("Split", "x", "j k", axis=2, split=[2, 4]), node("ReduceL2", "k", "l", axes=[2], keepdims=1), node("Split", "x", "m n", axis=1),
    node("Dropout", "n", "o", ratio=0.25), node("Hardmax", "x", "p"),
    node("Constant", "", "yes", value=h.make_tensor("", T.BOOL, [], [True])), node("If", "yes", "q", then_branch=then, else_branch=other),
    node("Sum", "a/axes b c f g i l o p q", "y"),
], "old", [h.make_tensor_value_info("x", T.FLOAT, ["n", 2, 6])], [h.make_tensor_value_info("y", T.FLOAT, ["n", 2, 6])])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 11)], ir_version=7), sys.argv[1])
onnx.checker.check_model(sys.argv[1], full_check=True)
`

const sameValues = `
import sys, numpy as np, onnx, onnxruntime
x = np.random.default_rng(1).normal(size=(3, 2, 6)).astype(np.float32)
def run(path): return onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
want = 2 * run(sys.argv[1])
assert want.std() > 0.1
for path in sys.argv[2:]:
    onnx.checker.check_model(path, full_check=True)
    assert np.allclose(run(path), want, atol=1e-5), path
print(len(sys.argv) - 2, "the same")
`

// Operators that changed between an old operator set and that of the other model give the same results.
func TestOldOperatorsAreRaised(t *testing.T) {
	for name, script := range map[string]string{"11": oldModel, "7": olderModel} {
		t.Run(name, func(t *testing.T) { testRaised(t, script) })
	}
}

func testRaised(t *testing.T, script string) {
	py, dir := judge.Python(t, "onnx", "onnxruntime"), t.TempDir()
	old := filepath.Join(dir, "old.onnx")
	judge.Run(t, py, dir, script, old)
	files := []string{old}
	for _, opset := range []int64{17, 18, 21} {
		first, err := onnx.ReadFile(old)
		if err != nil {
			t.Fatal(err)
		}
		g := onnx.NewGraph("double")
		x := g.Input("values", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(2), onnx.Fix(6)})
		g.Output("twice", g.Add(x, x))
		second, err := g.Build(onnx.BuildOptions{Opset: opset, IRVersion: 8 + 2*(opset/21)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := rewrite.Merge(first, second, map[string]string{"y": "values"}, apart())
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprint(opset, ".onnx")))
		if err := m.WriteFile(files[len(files)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := judge.Run(t, py, dir, sameValues, files...); got != "3 the same\n" {
		t.Error(got)
	}
}

// olderModel writes a network of operator set 7, whose numbers are attributes.
const olderModel = `
import sys, onnx
from onnx import helper as h, TensorProto as T
def node(op, i, o, **a): return h.make_node(op, i.split(), o.split(), name=o.split()[0], **a)
def weights(name, *v): return h.make_tensor(name, T.FLOAT, [len(v)], v)
g = h.make_graph([
    node("Slice", "x", "a", axes=[1, 2], starts=[0, 1], ends=[2, 7]), node("Pad", "a", "b", pads=[0, 0, 1, 0, 0, 0], value=0.5),
    node("Slice", "b", "c", starts=[0, 0, 0], ends=[9, 9, 6]), node("Clip", "c", "d", min=-0.5, max=0.7), node("Clip", "x", "e", max=0.25),
    node("Clip", "x", "f"), node("TopK", "x", "i at", k=4, axis=2), node("Pad", "i", "j", pads=[0, 0, 0, 0, 0, 2]),
    node("BatchNormalization", "x s b0 m v", "k"), node("Dropout", "x", "l", ratio=0.5),
    node("Cast", "x", "x64", to=T.DOUBLE), node("Pad", "x64", "p64", pads=[0, 0, 1, 0, 0, 0], value=0.5),
    node("Slice", "p64", "s64", axes=[2], starts=[0], ends=[-1]), node("Cast", "s64", "o", to=T.FLOAT),
    node("Sum", "d e f j k l o", "y"),
], "older", [h.make_tensor_value_info("x", T.FLOAT, ["n", 2, 6])], [h.make_tensor_value_info("y", T.FLOAT, ["n", 2, 6])],
    [weights("s", 1, 2), weights("b0", 0, 1), weights("m", 0.5, 0), weights("v", 1, 4)])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 7)], ir_version=4), sys.argv[1])
onnx.checker.check_model(sys.argv[1], full_check=True)
`

// Nodes without their inputs are refused, not read.
func TestEmptyNodesAreNotRaised(t *testing.T) {
	for _, op := range []string{"Softmax", "Squeeze", "ReduceMean", "Split", "Clip", "Pad", "Slice", "TopK"} {
		first := onnxtest.Affine(t)
		first.Proto.OpsetImport[0].Version = proto.Int64(9)
		first.Proto.Graph.Node = append(first.Proto.Graph.Node, &onnxpb.NodeProto{OpType: proto.String(op), Attribute: []*onnxpb.AttributeProto{
			{Name: proto.String("axes"), Type: onnxpb.AttributeProto_INTS.Enum(), Ints: []int64{0}},
		}})
		_, err := rewrite.Merge(first, onnxtest.Head(t, onnx.Sym("n"), 18), map[string]string{"y": "x"}, apart())
		if err == nil || !strings.Contains(err.Error(), "("+op+"): has no input or no output") {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// An unsupported rewrite is reported for the old model, independent of the model it is merged with.
func TestOperatorsThatAreNotRaised(t *testing.T) {
	first := onnxtest.Affine(t)
	first.Proto.OpsetImport[0].Version = proto.Int64(9)
	first.Proto.Graph.Node = append(first.Proto.Graph.Node, &onnxpb.NodeProto{
		OpType: proto.String("Upsample"), Input: []string{"x", "y"}, Output: []string{"large"},
	})
	_, err := rewrite.Merge(first, onnxtest.Head(t, onnx.Sym("n"), 18), map[string]string{"y": "x"}, apart())
	var old *rewrite.OpsetError
	if !errors.As(err, &old) || !strings.HasPrefix(err.Error(), "the model has operator set 9, which cannot be raised to 18: node") ||
		!strings.Contains(err.Error(), "(Upsample): changed with version 10") || !strings.Contains(old.Hint(), "operator set 18") {
		t.Error(err)
	}
}
