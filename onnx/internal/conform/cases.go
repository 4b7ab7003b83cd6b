package conform

import "pipe/onnx"

func around(shape ...int64) Operand   { return Operand{shape, -2, 2} }
func positive(shape ...int64) Operand { return Operand{shape, 0.3, 2} }

type (
	graph = *onnx.Graph
	value = *onnx.Value
)

// Cases has at least one entry per differentiable op.
func Cases() []Case {
	var list []Case
	list = append(list, binaryCases()...)
	list = append(list, unaryCases()...)
	list = append(list, matrixCases()...)
	list = append(list, reduceCases()...)
	list = append(list, normCases()...)
	list = append(list, shapeCases()...)
	list = append(list, indexCases()...)
	return append(list, networkCases()...)
}

func binaryCases() []Case {
	ops := []struct {
		name string
		f    func(graph, value, value) value
	}{
		{"Add", graph.Add},
		{"Sub", graph.Sub},
		{"Mul", graph.Mul},
		{"Div", graph.Div},
		{"Pow", graph.Pow},
		{"Max", graph.Max},
		{"Min", graph.Min},
	}
	shapes := []struct {
		name string
		a, b []int64
	}{
		{"same", []int64{2, 3}, []int64{2, 3}},
		{"row", []int64{2, 3}, []int64{3}},
		{"column", []int64{2, 3}, []int64{2, 1}},
		{"cross", []int64{2, 1}, []int64{1, 3}},
		{"batch", []int64{1, 3}, []int64{4, 2, 1}},
		{"scalar", []int64{}, []int64{2, 3}},
	}
	var list []Case
	for _, op := range ops {
		for _, s := range shapes {
			list = append(list, Case{
				Name: op.name + "/" + s.name,
				In:   []Operand{positive(s.a...), positive(s.b...)},
				Expr: func(g graph, x []value) value { return op.f(g, x[0], x[1]) },
			})
		}
	}
	list = append(list,
		Case{Name: "Where", In: []Operand{around(2, 3), around(3), around(2, 1)}, Expr: func(g graph, x []value) value {
			return g.Where(g.Greater(x[0], g.Scalar(onnx.Float64, 0)), x[1], x[2])
		}},
		Case{Name: "Pow/square", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Pow(x[0], g.Scalar(onnx.Float64, 2))
		}},
		Case{Name: "Pow/constant", In: []Operand{positive(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Pow(x[0], g.Scalar(onnx.Float64, 2.7))
		}},
		Case{Name: "constants", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			c := func(v float64) value { return g.Scalar(onnx.Float64, v) }
			return g.Sub(c(1), g.Div(g.Mul(c(-3), g.Sub(g.Mul(x[0], c(-1)), x[0])), c(4)))
		}},
	)
	return list
}

func unaryCases() []Case {
	ops := []struct {
		name string
		f    func(graph, value) value
		in   Operand
		one  bool
	}{
		{"Neg", graph.Neg, around(2, 3), false},
		{"Abs", graph.Abs, around(2, 3), false},
		{"Exp", graph.Exp, around(2, 3), false},
		{"Log", graph.Log, positive(2, 3), false},
		{"Sqrt", graph.Sqrt, positive(2, 3), false},
		{"Reciprocal", graph.Reciprocal, positive(2, 3), false},
		{"Relu", graph.Relu, around(2, 3), false},
		{"Sigmoid", graph.Sigmoid, around(2, 3), false},
		{"Tanh", graph.Tanh, around(2, 3), false},
		{"Softplus", graph.Softplus, around(2, 3), true},
		{"Erf", graph.Erf, around(2, 3), true},
		{"Sin", graph.Sin, around(2, 3), false},
		{"Cos", graph.Cos, around(2, 3), false},
		{"Identity", graph.Identity, around(2, 3), false},
	}
	var list []Case
	for _, op := range ops {
		list = append(list, Case{
			Name: op.name, In: []Operand{op.in}, Single: op.one,
			Expr: func(g graph, x []value) value { return op.f(g, x[0]) },
		})
	}
	return append(list,
		Case{Name: "Clip", In: []Operand{around(3, 4)}, Expr: func(g graph, x []value) value { return g.Clip(x[0], -0.7, 0.9) }},
		// The stopped factors cancel, so finite differences do not see them.
		Case{Name: "StopGradient", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Add(g.Mul(x[0], x[0]), g.Sub(g.StopGradient(g.Exp(x[0])), g.Exp(g.StopGradient(x[0]))))
		}},
	)
}

func matrixCases() []Case {
	shapes := []struct {
		name string
		a, b []int64
	}{
		{"plain", []int64{2, 3}, []int64{3, 4}},
		{"batch", []int64{5, 2, 3}, []int64{5, 3, 4}},
		{"shared left", []int64{1, 2, 3}, []int64{5, 3, 4}},
		{"shared right", []int64{5, 2, 3}, []int64{1, 3, 4}},
		{"matrix right", []int64{5, 2, 3}, []int64{3, 4}},
		{"matrix left", []int64{2, 3}, []int64{5, 3, 4}},
		{"cross", []int64{5, 1, 2, 3}, []int64{6, 3, 4}},
		{"row", []int64{3}, []int64{3, 4}},
		{"column", []int64{2, 3}, []int64{3}},
		{"row batch", []int64{3}, []int64{5, 3, 4}},
		{"batch column", []int64{5, 2, 3}, []int64{3}},
		{"inner", []int64{3}, []int64{3}},
	}
	var list []Case
	for _, s := range shapes {
		list = append(list, Case{
			Name: "MatMul/" + s.name, In: []Operand{around(s.a...), around(s.b...)},
			Expr: func(g graph, x []value) value { return g.MatMul(x[0], x[1]) },
		})
	}
	for _, s := range []struct {
		name   string
		a, b   []int64
		ta, tb bool
	}{
		{"plain", []int64{2, 3}, []int64{3, 4}, false, false},
		{"transA", []int64{3, 2}, []int64{3, 4}, true, false},
		{"transB", []int64{2, 3}, []int64{4, 3}, false, true},
		{"both", []int64{3, 2}, []int64{4, 3}, true, true},
	} {
		list = append(list, Case{
			Name: "Gemm/" + s.name, In: []Operand{around(s.a...), around(s.b...), around(4)},
			Expr: func(g graph, x []value) value { return g.Gemm(x[0], x[1], x[2], -0.5, 2, s.ta, s.tb) },
		})
	}
	return append(list, Case{
		Name: "Transpose", In: []Operand{around(2, 3, 4), around(4, 2)},
		Expr: func(g graph, x []value) value { return g.Add(g.Transpose(x[0], 2, 0, 1), g.Unsqueeze(x[1], 2)) },
	}, Case{
		Name: "Transpose/unexpanded", In: []Operand{around(2, 3)},
		Expr: func(g graph, x []value) value { return g.ReduceSum(g.Exp(g.Transpose(x[0])), false, 0) },
	})
}

func reduceCases() []Case {
	ops := []struct {
		name string
		f    func(graph, value, bool, ...int64) value
	}{
		{"ReduceSum", graph.ReduceSum},
		{"ReduceMean", graph.ReduceMean},
		{"ReduceMax", graph.ReduceMax},
		{"ReduceMin", graph.ReduceMin},
		{"ReduceSumSquare", graph.ReduceSumSquare},
	}
	var list []Case
	for _, op := range ops {
		list = append(list,
			Case{Name: op.name + "/keep", In: []Operand{around(2, 3, 4)}, Expr: func(g graph, x []value) value {
				return g.Mul(op.f(g, x[0], true, 1), x[0])
			}},
			Case{Name: op.name + "/drop", In: []Operand{around(2, 3, 4)}, Expr: func(g graph, x []value) value {
				return op.f(g, x[0], false, 0, -1)
			}},
			Case{Name: op.name + "/all", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
				return g.Exp(g.Mul(g.Scalar(onnx.Float64, 0.1), op.f(g, x[0], false)))
			}},
		)
	}
	for _, axis := range []int64{0, 1, -1} {
		list = append(list,
			Case{Name: "Softmax", In: []Operand{around(2, 3, 4)}, Expr: func(g graph, x []value) value { return g.Softmax(x[0], axis) }},
			Case{Name: "LogSoftmax", In: []Operand{around(2, 3, 4)}, Expr: func(g graph, x []value) value { return g.LogSoftmax(x[0], axis) }},
		)
	}
	return append(list,
		Case{Name: "CumSum", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Mul(g.CumSum(x[0], 1, false, false), g.CumSum(x[0], 0, true, true))
		}},
		Case{Name: "LogSoftmax/unexpanded", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.ReduceSum(g.LogSoftmax(x[0], 1), true, 1)
		}},
	)
}

func normCases() []Case {
	return []Case{
		{Name: "LayerNormalization", In: []Operand{around(2, 3, 4), positive(4), around(4)}, Since: 17, Expr: func(g graph, x []value) value {
			return g.LayerNormalization(x[0], x[1], x[2], 1e-3)
		}},
		{Name: "LayerNormalization/vector", In: []Operand{around(5), around(5), around(5)}, Since: 17, Expr: func(g graph, x []value) value {
			return g.Exp(g.LayerNormalization(x[0], x[1], x[2], 0.1))
		}},
		{Name: "Gelu", In: []Operand{around(2, 3)}, Single: true, Expr: func(g graph, x []value) value { return g.Gelu(x[0]) }},
		{Name: "GeluTanh", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value { return g.GeluTanh(x[0]) }},
	}
}

func shapeCases() []Case {
	return []Case{
		{Name: "Reshape", In: []Operand{around(2, 3, 4)}, Expr: func(g graph, x []value) value {
			y := g.Exp(g.Reshape(x[0], 0, -1))
			return g.Reshape(y, -1)
		}},
		{Name: "Unsqueeze", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Mul(g.Unsqueeze(x[0], 0, -1), g.Unsqueeze(x[0], 1, 2))
		}},
		{Name: "Squeeze", In: []Operand{around(2, 1, 3, 1)}, Expr: func(g graph, x []value) value {
			return g.Add(g.Exp(g.Squeeze(x[0], 1, -1)), g.Squeeze(g.ReduceSum(x[0], true, 0), 0, 1, 3))
		}},
		{Name: "Expand", In: []Operand{around(3, 1)}, Expr: func(g graph, x []value) value {
			y := g.ExpandLike(x[0], g.StopGradient(g.Mul(x[0], g.Const(onnx.Float64s([]int64{2, 1, 4}, []float64{1, 2, 3, 4, 5, 6, 7, 8})))))
			return g.Mul(y, g.Exp(g.Expand(x[0], 1, 1, 4)))
		}},
		{Name: "Concat", In: []Operand{around(2, 3), around(2, 4), around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Concat(1, x[0], x[1], x[2], x[0]))
		}},
		{Name: "Concat/ones", In: []Operand{around(2, 3), around(2, 4)}, Expr: func(g graph, x []value) value {
			return g.Concat(1, x...)
		}},
		{Name: "Concat/unexpanded", In: []Operand{around(2, 3), around(2, 4)}, Expr: func(g graph, x []value) value {
			return g.ReduceSum(g.Concat(1, x...), true, 1)
		}},
		{Name: "Concat/one", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			zero := g.StopGradient(g.Sub(x[0], x[0]))
			return g.Exp(g.Concat(0, zero, g.Neg(x[0])))
		}},
		{Name: "Split", In: []Operand{around(2, 6)}, Expr: func(g graph, x []value) value {
			p := g.Split(x[0], 1, 1, 2, 3)
			return g.Sub(g.Neg(g.Mul(p[0], p[0])), g.ReduceSum(g.Exp(p[2]), true, 1))
		}},
		{Name: "Split/negative", In: []Operand{around(2, 6)}, Expr: func(g graph, x []value) value {
			p := g.Split(x[0], 1, 3, 3)
			c := g.Const(onnx.Float64s([]int64{3}, []float64{1, 2, 4}))
			return g.Sub(g.Neg(g.Mul(p[0], c)), g.Mul(c, p[1]))
		}},
		{Name: "Slice", In: []Operand{around(5, 6)}, Expr: func(g graph, x []value) value {
			a := g.Slice(x[0], []int64{1, -3}, []int64{3, 100}, nil, nil)
			return g.Mul(a, g.Exp(a))
		}},
		{Name: "Slice/steps", In: []Operand{around(5, 6)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Slice(x[0], []int64{-1, 0}, []int64{-100, 5}, []int64{1, 0}, []int64{-2, 3}))
		}},
		{Name: "Slice/dynamic", In: []Operand{around(5, 6)}, Expr: func(g graph, x []value) value {
			rows := g.Slice(g.ShapeOf(x[0]), []int64{0}, []int64{1}, nil, nil)
			one := g.Const(onnx.Int64s([]int64{1}, []int64{1}))
			y := g.SliceDyn(x[0], one, g.Sub(rows, one), g.Const(onnx.Int64s([]int64{1}, []int64{0})))
			y = g.AssumeShape(y, onnx.Shape{onnx.Fix(3), x[0].Shape()[1]})
			return g.Exp(y)
		}},
		{Name: "Pad", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Pad(x[0], []int64{1, 0}, []int64{2, 1}))
		}},
	}
}

func indexCases() []Case {
	ids := func(g graph, shape []int64, v ...int64) value { return g.Const(onnx.Int64s(shape, v)) }
	return []Case{
		{Name: "Gather/rows", In: []Operand{around(4, 3)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Gather(x[0], ids(g, []int64{5}, 0, 2, 2, -1, 1), 0))
		}},
		{Name: "Gather/scalar", In: []Operand{around(4, 3)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Gather(x[0], ids(g, nil, 2), 1))
		}},
		{Name: "Gather/table", In: []Operand{around(2, 4, 3)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.Gather(x[0], ids(g, []int64{2, 3}, 0, 1, 1, 3, 1, 2), 1))
		}},
		{Name: "GatherElements", In: []Operand{around(3, 4)}, Expr: func(g graph, x []value) value {
			return g.Exp(g.GatherElements(x[0], ids(g, []int64{3, 2}, 0, 1, 1, 1, 3, 2), 1))
		}},
	}
}

func networkCases() []Case {
	return []Case{
		{Name: "network", In: []Operand{around(6, 3), around(2, 3, 5), around(2, 1, 5), around(2, 5, 4)}, Expr: func(g graph, x []value) value {
			h := g.Relu(g.Add(g.MatMul(x[0], x[1]), x[2]))
			p := g.LogSoftmax(g.MatMul(h, x[3]), -1)
			return g.Neg(g.ReduceMean(g.ReduceMax(p, false, -1), false, 1))
		}},
		{Name: "fan out", In: []Operand{around(2, 3)}, Expr: func(g graph, x []value) value {
			y := g.Tanh(x[0])
			z := g.Sub(g.Mul(y, x[0]), g.ReduceMean(y, true, 1))
			return g.Add(g.Sub(z, y), g.Div(y, g.Add(g.Mul(z, z), g.Scalar(onnx.Float64, 1))))
		}},
	}
}
