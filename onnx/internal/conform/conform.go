// Package conform has the properties that every executor of graphs is tested for; only tests import it.
package conform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/internal/lists"
	"pipe/onnx"
)

// Run executes a model: inputs by name in, outputs by name out.
type Run func(m *onnx.Model, inputs map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error)

// Operand is an input of a case, sampled evenly from [Low, High).
type Operand struct {
	Shape     []int64
	Low, High float64
}

// Case is an expression whose derivative is checked.
type Case struct {
	Name string
	In   []Operand
	Expr func(g *onnx.Graph, x []*onnx.Value) *onnx.Value
	// Single marks ops that ONNX Runtime computes in float32 only; the other cases are computed in float64.
	Single bool
	Since  int64 // the first operator set that has the op; 0: all that Build knows
}

// variant says how a case is built: with named axes or with numbers, under a weighted sum (every cotangent differs) or
// a plain one (cotangents are ones).
type variant struct{ symbolic, weighted bool }

var variants = []variant{{false, true}, {true, true}, {false, false}, {true, false}}

// Models builds the case, loss and derivatives, in its variants.
func (c Case) Models(o onnx.BuildOptions) ([]*onnx.Model, error) {
	var list []*onnx.Model
	for _, v := range variants {
		m, err := c.model(v, o)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// CheckGradients compares the derivative of the case with central differences, in four variants.
func CheckGradients(t *testing.T, c Case, run Run) {
	for _, v := range variants {
		t.Run(fmt.Sprintf("symbolic=%t/weighted=%t", v.symbolic, v.weighted), func(t *testing.T) {
			c.check(t, v, run)
		})
	}
}

func (c Case) check(t *testing.T, v variant, run Run) {
	m, err := c.model(v, onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	x := c.sample()
	out := c.run(t, m, x, run)
	h, tolerance := c.precision()
	for i, vals := range x {
		grad := out[fmt.Sprintf("d%d", i)]
		for j := range vals {
			at := vals[j]
			vals[j] = at + h
			up := c.run(t, m, x, run)["loss"][0]
			vals[j] = at - h
			down := c.run(t, m, x, run)["loss"][0]
			vals[j] = at
			want := (up - down) / (2 * h)
			if diff := math.Abs(grad[j] - want); !(diff <= tolerance*(1+math.Abs(want))) {
				t.Errorf("operand %d element %d: derivative %.9g, differences give %.9g", i, j, grad[j], want)
			}
		}
	}
}

// precision gives the step of the differences, which balances their truncation error h² with the rounding error
// 1e-16/h or 1e-7/h, and the tolerance that follows.
func (c Case) precision() (h, tolerance float64) {
	if c.Single {
		return 1e-2, 1e-3
	}
	return 1e-5, 1e-7
}

func (c Case) dtype() onnx.DType {
	if c.Single {
		return onnx.Float32
	}
	return onnx.Float64
}

func (c Case) model(v variant, o onnx.BuildOptions) (*onnx.Model, error) {
	g := onnx.NewGraph(c.Name)
	var x []*onnx.Value
	for i, o := range c.In {
		s := onnx.Dims(o.Shape...)
		for j, n := range o.Shape {
			// Sizes above 1 differ from axis to axis unless they must agree, so that the number can serve as the name.
			if v.symbolic && n != 1 {
				s[j] = onnx.Sym(fmt.Sprintf("n%d", n))
			}
		}
		x = append(x, g.Input(fmt.Sprintf("x%d", i), c.dtype(), s))
	}
	y := c.Expr(g, x)
	if v.weighted {
		y = g.Mul(y, weights(g, y))
	}
	loss := g.ReduceSum(y, false)
	grads, err := g.Gradients(loss, x...)
	if err != nil {
		return nil, err
	}
	g.Output("loss", loss)
	for i, d := range grads {
		if !d.Shape().Equal(x[i].Shape()) {
			return nil, fmt.Errorf("gradient %d has shape %s, operand %s", i, d.Shape(), x[i].Shape())
		}
		g.Output(fmt.Sprintf("d%d", i), d)
	}
	return g.Build(o)
}

// weights is a value like y with irregular elements, also if the sizes of y are known only at run time.
func weights(g *onnx.Graph, y *onnx.Value) *onnx.Value {
	shape := g.ShapeOf(y)
	count := g.ReduceProd(shape, false)
	at := g.Cast(g.Range(g.Scalar(onnx.Int64, 0), count, g.Scalar(onnx.Int64, 1)), y.DType())
	w := g.Add(g.Scalar(y.DType(), 1.5), g.Sin(g.Mul(at, g.Scalar(y.DType(), 1.7))))
	return g.ReshapeTo(w, shape, y.Shape())
}

func (c Case) sample() [][]float64 {
	r := rand.New(rand.NewPCG(7, uint64(len(c.Name))))
	x := make([][]float64, len(c.In))
	for i, o := range c.In {
		x[i] = make([]float64, onnx.Elements(o.Shape))
		for j := range x[i] {
			x[i][j] = o.Low + (o.High-o.Low)*r.Float64()
		}
	}
	return x
}

// run returns the outputs by name, as float64.
func (c Case) run(t *testing.T, m *onnx.Model, x [][]float64, run Run) map[string][]float64 {
	t.Helper()
	in := map[string]*onnx.Tensor{}
	for i, o := range c.In {
		v := onnx.Float64s(o.Shape, x[i])
		if c.Single {
			v = onnx.Float32s(o.Shape, lists.Each(x[i], func(v float64) float32 { return float32(v) }))
		}
		in[fmt.Sprintf("x%d", i)] = v
	}
	out, err := run(m, in)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string][]float64{}
	for name, v := range out {
		if c.Single {
			numbers[name] = lists.Each(v.Float32s(), func(v float32) float64 { return float64(v) })
		} else {
			numbers[name] = v.Float64s()
		}
	}
	return numbers
}
