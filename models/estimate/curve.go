package estimate

import (
	"errors"
	"fmt"
	"math"

	"pipe/onnx"
)

// Curve is a rising, piecewise linear function through the points (X, Y), constant outside of them. It turns estimates
// into calibrated ones. The zero value changes nothing.
type Curve struct {
	X, Y []float64 // at least two points; X rises strictly, and so does Y, so that the order of two estimates stays
}

// Check returns why the curve is not one: fewer than two points, or values that do not rise strictly.
func (c Curve) Check() error {
	if c.X == nil && c.Y == nil {
		return nil
	}
	if len(c.X) < 2 || len(c.X) != len(c.Y) {
		return fmt.Errorf("a curve through %d and %d coordinates", len(c.X), len(c.Y))
	}
	for i, x := range c.X {
		if math.IsNaN(x) || math.IsInf(x, 0) || math.IsNaN(c.Y[i]) || math.IsInf(c.Y[i], 0) {
			return errors.New("a point of the curve is not finite")
		}
		if i > 0 && (float32(x) <= float32(c.X[i-1]) || float32(c.Y[i]) <= float32(c.Y[i-1])) {
			return fmt.Errorf("point %d of the curve does not rise", i)
		}
	}
	return nil
}

// At is the value of the curve at x.
func (c Curve) At(x float64) float64 {
	if len(c.X) == 0 {
		return x
	}
	y := c.Y[0]
	for i, slope := range c.slopes() {
		y += slope * math.Min(math.Max(x-c.X[i], 0), c.X[i+1]-c.X[i])
	}
	return y
}

func (c Curve) slopes() []float64 {
	out := make([]float64, len(c.X)-1)
	for i := range out {
		out[i] = (c.Y[i+1] - c.Y[i]) / (c.X[i+1] - c.X[i])
	}
	return out
}

// Graph applies the curve to every element of v, rows x pairs. The names of its constants start with prefix.
func (c Curve) Graph(g *onnx.Graph, v *onnx.Value, prefix string) *onnx.Value {
	if len(c.X) == 0 {
		return v
	}
	n := len(c.X) - 1
	start, width, slope := make([]float32, n), make([]float32, n), make([]float32, n)
	for i, s := range c.slopes() {
		start[i], width[i], slope[i] = float32(c.X[i]), float32(c.X[i+1]-c.X[i]), float32(s)
	}
	segment := []int64{1, 1, int64(n)}
	from := g.NamedConst(prefix+"start", onnx.Float32s(segment, start))
	most := g.NamedConst(prefix+"width", onnx.Float32s(segment, width))
	within := g.Min(g.Relu(g.Sub(g.Unsqueeze(v, 2), from)), most)
	rise := g.MatMul(within, g.NamedConst(prefix+"slope", onnx.Float32s([]int64{int64(n), 1}, slope)))
	return g.Add(g.Squeeze(rise, 2), g.Scalar(onnx.Float32, c.Y[0]))
}

// Within limits every element of v, of any shape, to the values that the curve has. An empty curve limits nothing.
func (c Curve) Within(g *onnx.Graph, v *onnx.Value) *onnx.Value {
	if len(c.Y) == 0 {
		return v
	}
	return g.Max(g.Min(v, g.Scalar(onnx.Float32, c.Y[len(c.Y)-1])), g.Scalar(onnx.Float32, c.Y[0]))
}
