package estimate

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"pipe/onnx"
)

// Part is a member of a blend and its weight.
type Part struct {
	Estimator
	Weight float64
}

// Blend is the weighted sum of its parts.
type Blend struct {
	Parts []Part
}

// kindBlend is the kind of [Blend].
const kindBlend = "blend"

// Kind implements [Estimator].
func (Blend) Kind() string { return kindBlend }

// Check implements [Estimator].
func (b Blend) Check(dim, pairs int) error {
	if len(b.Parts) == 0 {
		return errors.New("a blend of no estimators")
	}
	for i, p := range b.Parts {
		if p.Estimator == nil {
			return fmt.Errorf("part %d of the blend is empty", i)
		}
		if math.IsNaN(p.Weight) || math.IsInf(p.Weight, 0) {
			return fmt.Errorf("part %d of the blend has the weight %g", i, p.Weight)
		}
		if err := p.Check(dim, pairs); err != nil {
			return fmt.Errorf("part %d of the blend, %s: %w", i, p.Kind(), err)
		}
	}
	return nil
}

// Estimate implements [Estimator].
func (b Blend) Estimate(dst, x []float64) {
	clear(dst)
	own := make([]float64, len(dst))
	for _, p := range b.Parts {
		p.Estimate(own, x)
		for i, v := range own {
			dst[i] += p.Weight * v
		}
	}
}

// Graph implements [Estimator]. A row with a feature that is NaN or infinite is estimated as NaN for every pair, also
// where a part, such as neighbours, would not see it.
func (b Blend) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	sum := g.ReduceSum(g.Mul(x, g.Scalar(onnx.Float32, 0)), true, 1)
	for i, p := range b.Parts {
		v := p.Graph(g, x, prefix+"part"+strconv.Itoa(i)+"_")
		if p.Weight != 1 {
			v = g.Mul(v, g.Scalar(onnx.Float32, p.Weight))
		}
		sum = g.Add(sum, v)
	}
	return sum
}
