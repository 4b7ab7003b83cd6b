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
	writeCascade(t, path, dim, seed, nil)
}

// WritePricedCascade is [WriteCascade] for a cascade for any price. Later is how often a pair is expected to be executed after another one
// was first, c after b at 6*b+c.
func WritePricedCascade(t testing.TB, path string, dim int, seed uint64) (later []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	later = make([]float64, 36)
	for i := range later {
		if later[i] = r.Float64(); i/6 == i%6 || i/6 == 5 || i%6 == 5 {
			later[i] = 0
		}
	}
	writeCascade(t, path, dim, seed, func(p *cascade.Policy) {
		prices := policy.DefaultPriceRange()
		p.Prices, p.Range = &prices, 1
		p.States[0].Later = later
	})
	return later
}

func writeCascade(t testing.TB, path string, dim int, seed uint64, change func(*cascade.Policy)) {
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
	if change != nil {
		change(p)
	}
	m, err := p.Export()
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
