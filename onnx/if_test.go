package onnx_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// choices is a graph of nested branches, which use values of every graph around them: within a loop, element i of x is
// doubled if i is even; of the odd ones, the last is squared and the others negated.
func choices(t *testing.T) *onnx.Model {
	t.Helper()
	g := onnx.NewGraph("choices")
	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(1)})
	count := g.Gather(g.ShapeOf(x), g.Scalar(onnx.Int64, 0), 0)
	_, scans := g.Loop(count, nil, func(b *onnx.Graph, i *onnx.Value, _ []*onnx.Value) (next, scan []*onnx.Value) {
		v := b.Gather(x, i, 0)
		half := b.Div(i, b.Scalar(onnx.Int64, 2))
		even := b.Equal(b.Mul(half, b.Scalar(onnx.Int64, 2)), i)
		scale := func(b *onnx.Graph, by float32) []*onnx.Value {
			return []*onnx.Value{b.Mul(v, b.NamedConst("by", onnx.Float32s([]int64{1}, []float32{by})))} // one name in both branches
		}
		out := b.If(even, func(b *onnx.Graph) []*onnx.Value { return scale(b, 2) }, func(b *onnx.Graph) []*onnx.Value {
			last := b.Equal(b.Add(i, b.Scalar(onnx.Int64, 1)), count)
			return b.If(last, func(b *onnx.Graph) []*onnx.Value { return []*onnx.Value{b.Mul(v, v)} },
				func(b *onnx.Graph) []*onnx.Value { return scale(b, -1) })
		})
		return nil, []*onnx.Value{out[0], i}
	})
	g.Output("y", scans[0])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// A loop in each branch has constants of the same name.
func TestLoopsInBranches(t *testing.T) {
	g := onnx.NewGraph("loops")
	power := func(by float32) func(*onnx.Graph) []*onnx.Value {
		return func(b *onnx.Graph) []*onnx.Value {
			one := b.Const(onnx.Float32s([]int64{1}, []float32{1}))
			final, _ := b.Loop(b.Scalar(onnx.Int64, 3), []*onnx.Value{one}, func(b *onnx.Graph, _ *onnx.Value, carried []*onnx.Value) (next, scan []*onnx.Value) {
				return []*onnx.Value{b.Mul(carried[0], b.NamedConst("by", onnx.Float32s([]int64{1}, []float32{by})))}, nil
			})
			return final
		}
	}
	g.Output("y", g.If(g.Input("c", onnx.Bool, nil), power(2), power(3))[0])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[bool]float32{true: 8, false: 27} {
		if y := orttest.Evaluate(t, m, map[string]*onnx.Tensor{"c": onnx.Bools(nil, []bool{c})})["y"].Float32s(); y[0] != want {
			t.Errorf("%t: %v", c, y)
		}
	}
}

func TestIf(t *testing.T) {
	out := orttest.Evaluate(t, choices(t), map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{4, 1}, []float32{1, 2, 3, 4})})
	if y := out["y"].Float32s(); !slices.Equal(y, []float32{2, -2, 6, 16}) {
		t.Error(y)
	}
}

func TestOfficialCheckerAcceptsIf(t *testing.T) {
	py, path := judge.Python(t, "onnx"), filepath.Join(t.TempDir(), "if.onnx")
	if err := choices(t).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(py, "-c", checker, path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestIfRefuses(t *testing.T) {
	value := func(t onnx.DType, s ...int64) func(*onnx.Graph) []*onnx.Value {
		return func(b *onnx.Graph) []*onnx.Value { return []*onnx.Value{b.Expand(b.Scalar(t, 1), s...)} }
	}
	none := func(*onnx.Graph) []*onnx.Value { return nil }
	for want, c := range map[string]struct {
		cond    onnx.DType
		yes, no func(*onnx.Graph) []*onnx.Value
	}{
		"the condition is int64":                         {onnx.Int64, value(onnx.Float32, 2), value(onnx.Float32, 2)},
		"return 1 and 0 values":                          {onnx.Bool, value(onnx.Float32, 2), none},
		"return 0 and 0 values":                          {onnx.Bool, none, none},
		"float32 [2] in one branch and int64 [2]":        {onnx.Bool, value(onnx.Float32, 2), value(onnx.Int64, 2)},
		"float32 [2] in one branch and float32 [2 1] in": {onnx.Bool, value(onnx.Float32, 2), value(onnx.Float32, 2, 1)},
	} {
		g := onnx.NewGraph("if")
		g.If(g.Input("c", c.cond, nil), c.yes, c.no)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Where the branches disagree on a size, it has a name.
func TestIfShapes(t *testing.T) {
	g := onnx.NewGraph("if")
	rows := func(n int64) func(*onnx.Graph) []*onnx.Value {
		return func(b *onnx.Graph) []*onnx.Value { return []*onnx.Value{b.Expand(b.Scalar(onnx.Float32, 1), n, 3)} }
	}
	out := g.If(g.Input("c", onnx.Bool, nil), rows(1), rows(2))
	if s := out[0].Shape(); s[0].Known() || !s[1].Known() || g.Err() != nil {
		t.Error(s, g.Err())
	}
}
