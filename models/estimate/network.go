package estimate

import (
	"fmt"
	"math"

	"pipe/models/network"
	"pipe/onnx"
)

// kindNetwork is the kind of [Network].
const kindNetwork = "network"

// Network is a network with a sigmoid per pair, which stays within the losses that were seen in training:
// Low + (High - Low) sigmoid(output).
type Network struct {
	network.MLP
	Low, High float64 // smallest and largest loss
}

// Kind implements [Estimator].
func (Network) Kind() string { return kindNetwork }

// Check implements [Estimator].
func (n Network) Check(dim, pairs int) error {
	if !(n.Low <= n.High) || math.IsInf(n.High-n.Low, 0) {
		return fmt.Errorf("losses from %g to %g", n.Low, n.High)
	}
	return checkWidth(n.MLP, dim, pairs)
}

// Estimate implements [Estimator].
func (n Network) Estimate(dst, x []float64) {
	for i, v := range n.Forward(x) {
		dst[i] = n.Low + (n.High-n.Low)/(1+math.Exp(-v))
	}
}

// Graph implements [Estimator].
func (n Network) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	p := g.Sigmoid(n.MLP.Graph(g, x, prefix))
	if n.Low == 0 && n.High == 1 {
		return p
	}
	return g.Add(g.Mul(p, g.Scalar(onnx.Float32, n.High-n.Low)), g.Scalar(onnx.Float32, n.Low))
}
