package estimate

import (
	"fmt"

	"pipe/models/network"
	"pipe/onnx"
)

// kindLinear is the kind of [Linear].
const kindLinear = "ridge"

// Linear is an affine map. With weights of zero it is the same estimate for every row.
type Linear struct {
	network.Affine
}

// NewConstant estimates the same losses for every row of dim features.
func NewConstant(losses []float64, dim int) Linear {
	a := network.Affine{Out: len(losses), In: dim, W: make([]float32, len(losses)*dim), B: make([]float32, len(losses))}
	for i, v := range losses {
		a.B[i] = float32(v)
	}
	return Linear{a}
}

// Kind implements [Estimator].
func (Linear) Kind() string { return kindLinear }

// Check implements [Estimator].
func (l Linear) Check(dim, pairs int) error { return checkWidth(l.mlp(), dim, pairs) }

// Estimate implements [Estimator].
func (l Linear) Estimate(dst, x []float64) { copy(dst, l.mlp().Forward(x)) }

// Graph implements [Estimator].
func (l Linear) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	return l.mlp().Graph(g, x, prefix)
}

func (l Linear) mlp() network.MLP { return network.MLP{Layers: []network.Affine{l.Affine}} }

func checkWidth(m network.MLP, dim, pairs int) error {
	if err := m.Check(dim); err != nil {
		return err
	}
	if m.Out() != pairs {
		return fmt.Errorf("%d outputs for %d pairs", m.Out(), pairs)
	}
	return nil
}
