package onnx

// rule adds to the cotangents of a node's inputs the contributions of those of its results. A result without cotangent
// has the zero cot, which is 0. At least one of the inputs depends on a leaf.
type rule func(t *tape, n *node, dy []cot)

// rules has the derivative of every differentiable op.
var rules map[string]rule

// flat lists the ops whose results have derivative 0 or none, so that no gradient flows through them.
var flat = map[string]bool{
	"ArgMax": true, "ConstantOfShape": true, "Equal": true,
	"Greater": true, "GreaterOrEqual": true, "Less": true, "LessOrEqual": true,
	"Range": true, "Shape": true, "Sign": true,
}

func init() {
	rules = map[string]rule{
		"Add": gradAdd, "Sub": gradSub, "Mul": gradMul, "Div": gradDiv, "Pow": gradPow,
		"Max": gradMax, "Min": gradMin, "Where": gradWhere, "Clip": gradClip,
		"Neg":        elementwise(func(_ *tape, d cot, _, _ *Value) cot { return d.neg() }),
		"Identity":   elementwise(func(_ *tape, d cot, _, _ *Value) cot { return d }),
		"Abs":        elementwise(gradAbs),
		"Exp":        elementwise(func(t *tape, d cot, _, y *Value) cot { return t.mul(d, y) }),
		"Log":        elementwise(func(t *tape, d cot, x, _ *Value) cot { return t.div(d, x) }),
		"Sqrt":       elementwise(func(t *tape, d cot, _, y *Value) cot { return t.div(t.scale(d, 0.5), y) }),
		"Reciprocal": elementwise(gradReciprocal),
		"Relu":       elementwise(gradRelu),
		"Sigmoid":    elementwise(gradSigmoid),
		"Tanh":       elementwise(gradTanh),
		"Softplus":   elementwise(func(t *tape, d cot, x, _ *Value) cot { return t.mul(d, t.g.Sigmoid(x)) }),
		"Erf":        elementwise(gradErf),
		"Sin":        elementwise(func(t *tape, d cot, x, _ *Value) cot { return t.mul(d, t.g.Cos(x)) }),
		"Cos":        elementwise(func(t *tape, d cot, x, _ *Value) cot { return t.mul(d, t.g.Sin(x)).neg() }),
		"Cast":       elementwise(gradCast),

		"MatMul": gradMatMul, "Gemm": gradGemm,
		"ReduceSum": gradReduceSum, "ReduceMean": gradReduceMean, "ReduceSumSquare": gradReduceSumSquare,
		"ReduceMax": gradReduceExtreme, "ReduceMin": gradReduceExtreme,
		"Softmax": gradSoftmax, "LogSoftmax": gradLogSoftmax, "CumSum": gradCumSum,
		"LayerNormalization": gradLayerNormalization,

		"Transpose": gradTranspose, "Reshape": gradReshape, "Unsqueeze": gradUnsqueeze, "Squeeze": gradSqueeze,
		"Expand": gradExpand, "Concat": gradConcat, "Split": gradSplit, "Slice": gradSlice, "Pad": gradPad,
		"Gather": gradGather, "GatherElements": gradGatherElements,
	}
}

// elementwise makes a rule for an op of one operand x with a result y of the
// same shape.
func elementwise(f func(t *tape, d cot, x, y *Value) cot) rule {
	return func(t *tape, n *node, dy []cot) { t.add(n.in[0], f(t, dy[0], n.in[0], n.out[0])) }
}

// pass adds d(), which broadcasts to the result, to operand i of an op that
// broadcasts.
func (t *tape) pass(n *node, i int, d func() cot) {
	if x := n.in[i]; t.depends(x) {
		t.add(x, t.sumTo(d(), n.out[0], x))
	}
}
