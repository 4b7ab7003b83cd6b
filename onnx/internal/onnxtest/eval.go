package onnxtest

import (
	"fmt"
	"math"
	"slices"

	"pipe/onnx"
	"pipe/onnx/onnxpb"
)

// array is a tensor of the reference evaluator. For every type in the model its elements are float64, which is exact
// for the small integers and booleans of tests.
type array struct {
	t     onnx.DType
	shape []int
	v     []float64
}

func newArray(t onnx.DType, shape []int) array {
	return array{t, slices.Clone(shape), make([]float64, volume(shape))}
}

func volume(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func strides(shape []int) []int {
	s, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// each visits the positions of a shape in order.
func each(shape []int, f func(at []int)) {
	at := make([]int, len(shape))
	for range volume(shape) {
		f(at)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
}

// index is the position in an operand of a position in a broadcast result.
func index(at, shape []int) int {
	i, lead := 0, len(at)-len(shape)
	for k, s := range strides(shape) {
		if shape[k] != 1 {
			i += at[lead+k] * s
		}
	}
	return i
}

func fromTensor(t *onnx.Tensor) array {
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = int(d)
	}
	a := newArray(t.DType, shape)
	for i := range a.v {
		switch t.DType {
		case onnx.Float64:
			a.v[i] = t.Float64s()[i]
		case onnx.Float32:
			a.v[i] = float64(t.Float32s()[i])
		case onnx.Int64:
			a.v[i] = float64(t.Int64s()[i])
		case onnx.Bool:
			a.v[i] = float64(t.Raw[i])
		default:
			panic("evaluator: type " + t.DType.String())
		}
	}
	return a
}

func (a array) tensor() *onnx.Tensor {
	shape := make([]int64, len(a.shape))
	for i, d := range a.shape {
		shape[i] = int64(d)
	}
	switch a.t {
	case onnx.Float64:
		return onnx.Float64s(shape, a.v)
	case onnx.Float32:
		v := make([]float32, len(a.v))
		for i := range v {
			v[i] = float32(a.v[i])
		}
		return onnx.Float32s(shape, v)
	default:
		return onnx.Int64s(shape, a.ints())
	}
}

func (a array) ints() []int64 {
	out := make([]int64, len(a.v))
	for i, v := range a.v {
		out[i] = int64(v)
	}
	return out
}

// env has the values by name; bodies of loops see those of enclosing graphs.
type env struct {
	outer *env
	vals  map[string]array
	opset int64
}

func (e *env) get(name string) array {
	for s := e; s != nil; s = s.outer {
		if a, ok := s.vals[name]; ok {
			return a
		}
	}
	panic("evaluator: no value " + name)
}

// Evaluate runs a model in double precision. It is written to be obviously correct, not fast, and checks the builder if
// no runtime is available.
func Evaluate(m *onnx.Model, in map[string]*onnx.Tensor) (out map[string]*onnx.Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	e := &env{vals: map[string]array{}, opset: m.Proto.OpsetImport[0].GetVersion()}
	for name, t := range in {
		e.vals[name] = fromTensor(t)
	}
	e.graph(m.Proto.Graph)
	out = map[string]*onnx.Tensor{}
	for _, o := range m.Outputs() {
		out[o.Name] = e.get(o.Name).tensor()
	}
	return out, nil
}

func (e *env) graph(g *onnxpb.GraphProto) {
	for _, p := range g.Initializer {
		t, err := onnx.TensorFrom(p)
		if err != nil {
			panic(err)
		}
		e.vals[p.GetName()] = fromTensor(t)
	}
	for _, n := range g.Node {
		for i, a := range e.node(n) {
			e.vals[n.Output[i]] = a
		}
	}
}

// call is a node with its operands.
type call struct {
	*onnxpb.NodeProto
	in []array
}

func (c call) attr(name string) *onnxpb.AttributeProto {
	for _, a := range c.Attribute {
		if a.GetName() == name {
			return a
		}
	}
	return &onnxpb.AttributeProto{}
}

func (c call) axis() int {
	a := int(c.attr("axis").GetI())
	if a < 0 {
		a += len(c.in[0].shape)
	}
	return a
}

func (e *env) node(n *onnxpb.NodeProto) []array {
	c := call{NodeProto: n}
	for _, name := range n.Input {
		if name == "" {
			c.in = append(c.in, array{})
			continue
		}
		c.in = append(c.in, e.get(name))
	}
	if f, ok := pointwise[n.GetOpType()]; ok {
		return []array{c.pointwise(f)}
	}
	switch n.GetOpType() {
	case "Loop":
		return e.loop(c)
	case "Split":
		return c.split()
	}
	f, ok := kernels[n.GetOpType()]
	if !ok {
		panic("evaluator: no op " + n.GetOpType())
	}
	return []array{f(c)}
}

func (e *env) loop(c call) []array {
	body := c.attr("body").GetG()
	state := slices.Clone(c.in[2:])
	scans := make([]array, len(body.Output)-1-len(state))
	trips := int(c.in[0].v[0])
	for i := range trips {
		b := &env{outer: e, vals: map[string]array{}}
		b.vals[body.Input[0].GetName()] = array{onnx.Int64, nil, []float64{float64(i)}}
		b.vals[body.Input[1].GetName()] = array{onnx.Bool, nil, []float64{1}}
		for j, s := range state {
			b.vals[body.Input[2+j].GetName()] = s
		}
		b.graph(body)
		for j := range state {
			state[j] = b.get(body.Output[1+j].GetName())
		}
		for j := range scans {
			a := b.get(body.Output[1+len(state)+j].GetName())
			scans[j].t, scans[j].shape = a.t, append([]int{trips}, a.shape...)
			scans[j].v = append(scans[j].v, a.v...)
		}
	}
	return append(state, scans...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pointwise ops of up to three broadcast operands.
var pointwise = map[string]func(x []float64) float64{
	"Add":            func(x []float64) float64 { return x[0] + x[1] },
	"Sub":            func(x []float64) float64 { return x[0] - x[1] },
	"Mul":            func(x []float64) float64 { return x[0] * x[1] },
	"Div":            func(x []float64) float64 { return x[0] / x[1] },
	"Pow":            func(x []float64) float64 { return math.Pow(x[0], x[1]) },
	"Max":            func(x []float64) float64 { return max(x[0], x[1]) },
	"Min":            func(x []float64) float64 { return min(x[0], x[1]) },
	"Equal":          func(x []float64) float64 { return truth(x[0] == x[1]) },
	"Greater":        func(x []float64) float64 { return truth(x[0] > x[1]) },
	"GreaterOrEqual": func(x []float64) float64 { return truth(x[0] >= x[1]) },
	"Less":           func(x []float64) float64 { return truth(x[0] < x[1]) },
	"LessOrEqual":    func(x []float64) float64 { return truth(x[0] <= x[1]) },
	"And":            func(x []float64) float64 { return x[0] * x[1] },
	"Or":             func(x []float64) float64 { return max(x[0], x[1]) },
	"Not":            func(x []float64) float64 { return 1 - x[0] },
	"Neg":            func(x []float64) float64 { return -x[0] },
	"Abs":            func(x []float64) float64 { return math.Abs(x[0]) },
	"Exp":            func(x []float64) float64 { return math.Exp(x[0]) },
	"Log":            func(x []float64) float64 { return math.Log(x[0]) },
	"Sqrt":           func(x []float64) float64 { return math.Sqrt(x[0]) },
	"Reciprocal":     func(x []float64) float64 { return 1 / x[0] },
	"Relu":           func(x []float64) float64 { return max(x[0], 0) },
	"Sigmoid":        func(x []float64) float64 { return 1 / (1 + math.Exp(-x[0])) },
	"Tanh":           func(x []float64) float64 { return math.Tanh(x[0]) },
	"Softplus":       func(x []float64) float64 { return math.Log1p(math.Exp(x[0])) },
	"Erf":            func(x []float64) float64 { return math.Erf(x[0]) },
	"Sin":            func(x []float64) float64 { return math.Sin(x[0]) },
	"Cos":            func(x []float64) float64 { return math.Cos(x[0]) },
	"Floor":          func(x []float64) float64 { return math.Floor(x[0]) },
	"Identity":       func(x []float64) float64 { return x[0] },
	"Clip":           func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) },
	"Sign":           func(x []float64) float64 { return truth(x[0] > 0) - truth(x[0] < 0) },
	"Where":          func(x []float64) float64 { return x[1]*x[0] + x[2]*(1-x[0]) },
	"Cast":           func(x []float64) float64 { return x[0] },
}

func (c call) pointwise(f func([]float64) float64) array {
	var shape []int
	for _, a := range c.in {
		shape = stretch(shape, a.shape)
	}
	t := c.in[len(c.in)-1].t
	switch c.GetOpType() {
	case "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual":
		t = onnx.Bool
	case "Cast":
		t = onnx.DType(c.attr("to").GetI())
	}
	out, i, x := newArray(t, shape), 0, make([]float64, len(c.in))
	each(shape, func(at []int) {
		for k, a := range c.in {
			x[k] = a.v[index(at, a.shape)]
		}
		out.v[i] = f(x)
		i++
	})
	if t == onnx.Int64 {
		for i, v := range out.v {
			out.v[i] = math.Trunc(v)
		}
	}
	return out
}

// stretch is the broadcast of two shapes.
func stretch(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out, lead := slices.Clone(a), len(a)-len(b)
	for i, d := range b {
		switch e := &out[lead+i]; {
		case *e == 1:
			*e = d
		case d != 1 && d != *e:
			panic(fmt.Sprintf("evaluator: shapes %v and %v", a, b))
		}
	}
	return out
}
