package world

import (
	"fmt"
	"math/rand/v2"

	"pipe/costs"
)

// SyntheticMeans are the mean task losses of the synthetic benchmark (appendix of the paper). x is uniform on [-1,1]^2,
// and the sign of its first coordinate selects the table of mean task losses, here without the advice fee 0.08. Order:
// (0,none) (0,advice) (1,none) (1,advice). The realised loss of every pair is an independent Bernoulli draw with that
// mean: the paper only says Bernoulli.
var SyntheticMeans = [2][4]float64{
	{0.38, 1.00, 0.50, 0.43}, // x_1 < 0: Bayes takes (0, none) at 0.38
	{0.55, 0.10, 0.30, 0.82}, // x_1 >= 0: Bayes takes (0, advice) at 0.10 + 0.08
}

// SyntheticLambda is the price of advice in the benchmark.
const SyntheticLambda = 1.0

// SyntheticBest is the Bayes pair of a region.
var SyntheticBest = [2]int{0, 1}

func syntheticActions() *costs.Actions {
	return &costs.Actions{
		Experts:  []costs.Expert{{Name: "expert-0"}, {Name: "expert-1"}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "advice", Fee: 0.08}},
		Features: costs.FeatureSource{Name: "synthetic", Dim: 2},
	}
}

// SyntheticRegion is 0 left of the line and 1 on and right of it.
func SyntheticRegion(x []float32) int {
	if x[0] < 0 {
		return 0
	}
	return 1
}

// SyntheticTensor draws n instances of a split. Features are drawn first, so the first rows of a larger draw are the
// rows of a smaller one. With realised the losses are Bernoulli draws, else their means, so that every true loss on the
// tensor is an expected loss.
func SyntheticTensor(n int, split costs.Split, seed uint64, realised bool) *costs.Tensor {
	t := &costs.Tensor{Actions: syntheticActions(), Dim: 2}
	r := rand.New(rand.NewPCG(seed, uint64(split)))
	for i := range n {
		x := []float32{float32(2*r.Float64() - 1), float32(2*r.Float64() - 1)}
		t.IDs = append(t.IDs, fmt.Sprintf("%s-%06d", split, i))
		t.Splits = append(t.Splits, split)
		t.Features = append(t.Features, x...)
		for _, mean := range SyntheticMeans[SyntheticRegion(x)] {
			u := r.Float64()
			switch {
			case !realised:
				t.Loss = append(t.Loss, float32(mean))
			case u < mean:
				t.Loss = append(t.Loss, 1)
			default:
				t.Loss = append(t.Loss, 0)
			}
		}
	}
	return t
}
