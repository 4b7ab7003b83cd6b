package network

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"pipe/internal/finite"
	"pipe/onnx"
)

// Affine is y = W x + B.
type Affine struct {
	Out, In int
	W       []float32 // Out x In, row-major
	B       []float32 // Out
}

// MLP is a chain of affine layers with ReLU between them and none at the end.
type MLP struct {
	Layers []Affine
}

// In is the width of the input; 0 if there are no layers.
func (m MLP) In() int {
	if len(m.Layers) == 0 {
		return 0
	}
	return m.Layers[0].In
}

// Out is the width of the last layer; 0 if there are no layers.
func (m MLP) Out() int {
	if len(m.Layers) == 0 {
		return 0
	}
	return m.Layers[len(m.Layers)-1].Out
}

// Check returns why the network cannot take rows of width in: layers whose sizes do not match, or weights that are not
// finite; nil if it can.
func (m MLP) Check(in int) error {
	if len(m.Layers) == 0 {
		return errors.New("no layers")
	}
	for l, a := range m.Layers {
		if a.In != in || a.Out < 1 || len(a.W) != a.Out*a.In || len(a.B) != a.Out {
			return fmt.Errorf("layer %d is %d x %d with %d weights and %d biases after a width of %d",
				l, a.Out, a.In, len(a.W), len(a.B), in)
		}
		if finite.First(a.W) >= 0 || finite.First(a.B) >= 0 {
			return fmt.Errorf("layer %d has a value that is not finite", l)
		}
		in = a.Out
	}
	return nil
}

// Graph adds the network on x, rows x In, to g and returns rows x Out. The names of its weights start with prefix.
func (m MLP) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	for l, a := range m.Layers {
		name := prefix + "layer" + strconv.Itoa(l) + "_"
		w := g.NamedConst(name+"weight", onnx.Float32s([]int64{int64(a.Out), int64(a.In)}, a.W))
		b := g.NamedConst(name+"bias", onnx.Float32s([]int64{int64(a.Out)}, a.B))
		x = g.Gemm(x, w, b, 1, 1, false, true)
		if l+1 < len(m.Layers) {
			x = g.Relu(x)
		}
	}
	return x
}

// Forward is the Go reference of [MLP.Graph] for one row, in float64: x has In
// values, the result Out.
func (m MLP) Forward(x []float64) []float64 {
	for l, a := range m.Layers {
		y := make([]float64, a.Out)
		for o := range y {
			sum := float64(a.B[o]) + dot(a.W[o*a.In:(o+1)*a.In], x)
			if l+1 < len(m.Layers) {
				sum = math.Max(sum, 0)
			}
			y[o] = sum
		}
		x = y
	}
	return x
}

// dot sums in four independent lanes, so that additions do not wait for each other.
func dot(w []float32, x []float64) float64 {
	x = x[:len(w)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(w); i += 4 {
		s0 += float64(w[i]) * x[i]
		s1 += float64(w[i+1]) * x[i+1]
		s2 += float64(w[i+2]) * x[i+2]
		s3 += float64(w[i+3]) * x[i+3]
	}
	for ; i < len(w); i++ {
		s0 += float64(w[i]) * x[i]
	}
	return s0 + s1 + (s2 + s3)
}

// LogSoftmax replaces scores by the logarithm of their softmax, in place:
// s_i - log(sum_j exp(s_j)).
func LogSoftmax(s []float64) {
	top := math.Inf(-1)
	for _, v := range s {
		top = math.Max(top, v)
	}
	var sum float64
	for _, v := range s {
		sum += math.Exp(v - top)
	}
	shift := top + math.Log(sum)
	for i := range s {
		s[i] -= shift
	}
}
