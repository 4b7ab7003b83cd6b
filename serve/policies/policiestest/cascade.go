package policiestest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
)

// WriteCascade writes a cascade of three experts and two advice, none and docs, whose last pair does not exist, with random weights. It
// sees labels, no or yes, and lengths, executes at most two pairs, and knows the states after the pairs 0 and 2.
func WriteCascade(t testing.TB, path string, dim int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	a := &costs.Actions{Advice: []costs.Advice{{Name: "none"}, {Name: "docs", Fee: 0.02}}, Features: costs.FeatureSource{Dim: dim}, Unavailable: []costs.Pair{{Expert: 2, Advice: 1}}}
	for j := range 3 {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprint("e", j), Fee: 0.05 * float64(j)})
	}
	facts := []costs.Fact{{Name: "label", Values: []string{"no", "yes"}}, {Name: "length"}}
	p := &cascade.Policy{Actions: a, Dim: dim, Stages: 2, Lambda: 1, Facts: facts, Info: map[string]string{"seed": fmt.Sprint(seed)}}
	of := func(executed []int) cascade.State {
		e := cascade.Encoding{Dim: dim}
		for _, i := range executed {
			e.Values = append(e.Values, cascade.Value{Column: 2 * i, Index: 1})
			e.Numbers = append(e.Numbers, cascade.Number{Column: 2*i + 1, Low: -1, High: 1})
		}
		l := network.Affine{Out: a.Len(), In: e.Width(), W: make([]float32, a.Len()*e.Width()), B: make([]float32, a.Len())}
		for i := range l.W {
			l.W[i] = float32(r.NormFloat64())
		}
		standard := network.Standardizer{Mean: make([]float32, e.Width()), Scale: make([]float32, e.Width())}
		for i := range standard.Scale {
			standard.Scale[i] = 1
		}
		return cascade.State{Executed: executed, Encoding: e, Policy: &policy.Policy{
			Actions: cascade.PairActions(a, 1, executed, nil, e.Width()), Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderEstimate, Dim: e.Width(), Standard: standard,
			Estimate: &policy.Estimate{Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: l}}}}, Constant: make([]float64, a.Len()), Margin: 0.1},
		}}
	}
	p.Rest = of(nil).Policy
	p.States = []cascade.State{of(nil), of([]int{0}), of([]int{2})}
	m, err := p.Export()
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
