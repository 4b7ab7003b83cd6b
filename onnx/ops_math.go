package onnx

import (
	"errors"
	"fmt"
)

// Op appends any node of the standard operator set with one result, whose type and shape the caller states. Attributes
// are int64, float32, string, []int64 or *Tensor, in the order given. Results have no gradient.
func (g *Graph) Op(op string, in []*Value, t DType, s Shape, attrs ...Attr) *Value {
	list := make([]attr, len(attrs))
	for i, a := range attrs {
		switch a.Value.(type) {
		case int64, float32, string, []int64, *Tensor:
			list[i] = attr{a.Name, a.Value}
		default:
			return g.fail(op, fmt.Errorf("attribute %s has type %T", a.Name, a.Value))
		}
	}
	return g.emit(op, in, t, s, list...)
}

// Attr is an attribute for Op.
type Attr struct {
	Name  string
	Value any
}

func (g *Graph) unary(op string, x *Value) *Value {
	return g.emit(op, []*Value{x}, x.dtype, x.shape)
}

func (g *Graph) unaryFloat(op string, x *Value) *Value {
	if g.Err() == nil && !x.dtype.IsFloat() {
		return g.fail(op, fmt.Errorf("needs a float type, got %s", x.dtype))
	}
	return g.unary(op, x)
}

// binary is an elementwise op with broadcasting; if out is Undefined, the result has the type of the operands.
func (g *Graph) binary(op string, a, b *Value, out DType) *Value {
	if a.dtype != b.dtype {
		return g.fail(op, fmt.Errorf("types %s and %s", a.dtype, b.dtype))
	}
	s, err := broadcast(a.shape, b.shape)
	if err != nil {
		return g.fail(op, fmt.Errorf("shapes %s and %s: %w", a.shape, b.shape, err))
	}
	if out == Undefined {
		out = a.dtype
	}
	return g.emit(op, []*Value{a, b}, out, s)
}

// Add is a + b with broadcasting.
func (g *Graph) Add(a, b *Value) *Value { return g.binary("Add", a, b, Undefined) }

// Sub is a - b with broadcasting.
func (g *Graph) Sub(a, b *Value) *Value { return g.binary("Sub", a, b, Undefined) }

// Mul is a * b, elementwise with broadcasting.
func (g *Graph) Mul(a, b *Value) *Value { return g.binary("Mul", a, b, Undefined) }

// Div is a / b with broadcasting; integers truncate.
func (g *Graph) Div(a, b *Value) *Value { return g.binary("Div", a, b, Undefined) }

// Pow is a to the power b with broadcasting.
func (g *Graph) Pow(a, b *Value) *Value { return g.binary("Pow", a, b, Undefined) }

// Max is the larger of a and b with broadcasting. Where they are equal the
// gradient goes to a.
func (g *Graph) Max(a, b *Value) *Value { return g.binary("Max", a, b, Undefined) }

// Min is the smaller of a and b with broadcasting. Where they are equal the
// gradient goes to a.
func (g *Graph) Min(a, b *Value) *Value { return g.binary("Min", a, b, Undefined) }

// Neg is -x.
func (g *Graph) Neg(x *Value) *Value { return g.unary("Neg", x) }

// Abs is the absolute value; its gradient at 0 is 0.
func (g *Graph) Abs(x *Value) *Value { return g.unary("Abs", x) }

// Exp is e to the power x.
func (g *Graph) Exp(x *Value) *Value { return g.unaryFloat("Exp", x) }

// Log is the natural logarithm.
func (g *Graph) Log(x *Value) *Value { return g.unaryFloat("Log", x) }

// Sqrt is the square root.
func (g *Graph) Sqrt(x *Value) *Value { return g.unaryFloat("Sqrt", x) }

// Reciprocal is 1 / x.
func (g *Graph) Reciprocal(x *Value) *Value { return g.unaryFloat("Reciprocal", x) }

// Relu is max(x, 0); its gradient at 0 is 0.
func (g *Graph) Relu(x *Value) *Value { return g.unaryFloat("Relu", x) }

// Sigmoid is 1 / (1 + exp(-x)).
func (g *Graph) Sigmoid(x *Value) *Value { return g.unaryFloat("Sigmoid", x) }

// Tanh is the hyperbolic tangent.
func (g *Graph) Tanh(x *Value) *Value { return g.unaryFloat("Tanh", x) }

// Softplus is log(1 + exp(x)).
func (g *Graph) Softplus(x *Value) *Value { return g.unaryFloat("Softplus", x) }

// Erf is the Gauss error function.
func (g *Graph) Erf(x *Value) *Value { return g.unaryFloat("Erf", x) }

// Sin is the sine of radians.
func (g *Graph) Sin(x *Value) *Value { return g.unaryFloat("Sin", x) }

// Cos is the cosine of radians.
func (g *Graph) Cos(x *Value) *Value { return g.unaryFloat("Cos", x) }

// Sign is -1, 0 or 1; no gradient flows through it.
func (g *Graph) Sign(x *Value) *Value { return g.unary("Sign", x) }

// Identity is x as a separate value.
func (g *Graph) Identity(x *Value) *Value { return g.unary("Identity", x) }

// Not negates booleans.
func (g *Graph) Not(x *Value) *Value {
	if g.Err() == nil && x.dtype != Bool {
		return g.fail("Not", fmt.Errorf("needs bool, got %s", x.dtype))
	}
	return g.unary("Not", x)
}

func (g *Graph) logic(op string, a, b *Value) *Value {
	if g.Err() == nil && a.dtype != Bool {
		return g.fail(op, fmt.Errorf("needs bool, got %s", a.dtype))
	}
	return g.binary(op, a, b, Bool)
}

// And is the conjunction of booleans with broadcasting.
func (g *Graph) And(a, b *Value) *Value { return g.logic("And", a, b) }

// Or is the disjunction of booleans with broadcasting.
func (g *Graph) Or(a, b *Value) *Value { return g.logic("Or", a, b) }

// Equal compares with broadcasting; the result is bool, as for the other comparisons.
func (g *Graph) Equal(a, b *Value) *Value { return g.binary("Equal", a, b, Bool) }

// Greater is a > b.
func (g *Graph) Greater(a, b *Value) *Value { return g.binary("Greater", a, b, Bool) }

// GreaterOrEqual is a >= b.
func (g *Graph) GreaterOrEqual(a, b *Value) *Value { return g.binary("GreaterOrEqual", a, b, Bool) }

// Less is a < b.
func (g *Graph) Less(a, b *Value) *Value { return g.binary("Less", a, b, Bool) }

// LessOrEqual is a <= b.
func (g *Graph) LessOrEqual(a, b *Value) *Value { return g.binary("LessOrEqual", a, b, Bool) }

// Where picks a where cond (bool) holds and b elsewhere; all three broadcast.
func (g *Graph) Where(cond, a, b *Value) *Value {
	if cond.dtype != Bool || a.dtype != b.dtype {
		return g.fail("Where", fmt.Errorf("types %s, %s and %s", cond.dtype, a.dtype, b.dtype))
	}
	s, err := broadcast(a.shape, b.shape)
	if err == nil {
		s, err = broadcast(cond.shape, s)
	}
	if err != nil {
		return g.fail("Where", fmt.Errorf("shapes %s, %s and %s: %w", cond.shape, a.shape, b.shape, err))
	}
	return g.emit("Where", []*Value{cond, a, b}, a.dtype, s)
}

// Clip limits x to [lo, hi]. Outside, the gradient is 0.
func (g *Graph) Clip(x *Value, lo, hi float64) *Value {
	if !(lo <= hi) {
		return g.fail("Clip", errors.New("lower bound above upper bound"))
	}
	in := []*Value{x, g.Scalar(x.dtype, lo), g.Scalar(x.dtype, hi)}
	return g.emit("Clip", in, x.dtype, x.shape)
}

// Cast converts to type t. A gradient flows between float types only.
func (g *Graph) Cast(x *Value, t DType) *Value {
	if g.Err() == nil && x.dtype == t {
		return x
	}
	return g.emit("Cast", []*Value{x}, t, x.shape, attr{"to", int64(t)})
}
