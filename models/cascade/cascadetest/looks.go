// Package cascadetest makes small cascade files for tests.
package cascadetest

import (
	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
)

// AnyPrice is [Looks] with prices as inputs.
func AnyPrice(t *costs.Tensor) *cascade.Policy {
	p, r := Looks(t, 1), policy.DefaultPriceRange()
	p.Prices, p.Range = &r, 1
	return p
}

// Looks is a cascade of two stages for the tables of coststest.Looks: small without advice first; its loss is expected to be 1 minus its
// confidence, and that of large 0.05, so large follows where that is less with its fee.
func Looks(t *costs.Tensor, lambda float64) *cascade.Policy {
	p := &cascade.Policy{
		Actions: t.Actions, Dim: t.Dim, Stages: 2, Lambda: lambda, Facts: []costs.Fact{t.Facts[0].Fact, t.Facts[1].Fact},
		Info: map[string]string{"method": "cascade", "recipe": "cascade"},
	}
	// by is the policy of a state whose expected losses are those of without, and of the first pair less its confidence times slope.
	by := func(executed []int, e cascade.Encoding, slope float32, without ...float32) *policy.Policy {
		w := make([]float32, len(without)*e.Width())
		w[e.Width()-1] = -slope
		constant := make([]float64, len(without))
		for i, v := range without {
			constant[i] = float64(v)
		}
		a := cascade.PairActions(t.Actions, lambda, executed, nil, e.Width())
		return &policy.Policy{
			Actions: a, Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderEstimate, Dim: e.Width(),
			Estimate: &policy.Estimate{
				Blend:    estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: network.Affine{In: e.Width(), Out: len(without), W: w, B: without}}}}},
				Constant: constant,
			},
		}
	}
	empty := cascade.Encoding{Dim: t.Dim}
	seen := cascade.Encoding{Dim: t.Dim, Numbers: []cascade.Number{{Column: 0, Low: 0, High: 1, Fill: 0.5}}} // the first fact of the first pair
	p.States = []cascade.State{
		{Encoding: empty, Policy: by(nil, empty, 0, 0.1, 0.4, 0.3, 0.4)},
		{Executed: []int{0}, Encoding: seen, Policy: by([]int{0}, seen, 1, 1, 0.9, 0.05, 0.9)},
	}
	p.Rest = by(nil, empty, 0, 0.4, 0.4, 0.05, 0.05)
	return p
}
