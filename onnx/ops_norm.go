package onnx

import (
	"fmt"
	"math"
)

// LayerNormalization shifts and scales every row along the last axis of x to
// mean 0 and variance 1 (of the population; epsilon is added to it), multiplies
// by scale and adds bias, both of the size of that axis. It needs opset 17.
func (g *Graph) LayerNormalization(x, scale, bias *Value, epsilon float64) *Value {
	const op = "LayerNormalization"
	if x.rank() == 0 || !x.dtype.IsFloat() {
		return g.fail(op, fmt.Errorf("operand is %s %s", x.dtype, x.shape))
	}
	row := x.shape[x.rank()-1:]
	for _, v := range []*Value{scale, bias} {
		if v.dtype != x.dtype || !v.shape.Equal(row) {
			return g.fail(op, fmt.Errorf("scale or bias is %s %s for %s %s", v.dtype, v.shape, x.dtype, x.shape))
		}
	}
	return g.emit(op, []*Value{x, scale, bias}, x.dtype, x.shape,
		attr{"axis", int64(-1)}, attr{"epsilon", float32(epsilon)})
}

// Gelu is x * P(N <= x) for a standard normal N: x/2 * (1 + erf(x/sqrt(2))). It is composed of simpler ops, which ONNX
// Runtime fuses.
func (g *Graph) Gelu(x *Value) *Value {
	c := func(v float64) *Value { return g.Scalar(x.dtype, v) }
	return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, c(math.Sqrt2))), c(1))), c(0.5))
}

// GeluTanh is the approximation x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
// of Gelu by Hendrycks and Gimpel, 2016.
func (g *Graph) GeluTanh(x *Value) *Value {
	c := func(v float64) *Value { return g.Scalar(x.dtype, v) }
	inner := g.Mul(g.Add(x, g.Mul(g.Pow(x, c(3)), c(0.044715))), c(math.Sqrt(2/math.Pi)))
	return g.Mul(g.Mul(x, g.Add(g.Tanh(inner), c(1))), c(0.5))
}
