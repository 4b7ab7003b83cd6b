package policy

import (
	"math"
	"testing"

	"pipe/costs"
	"pipe/models/estimate"
)

// TestCachedTokensAreOfThePrompt: estimates of cached tokens are at most those of the prompt, where these are known, so that a fee does
// not fall when the price of prompts rises. The file says the same as Go.
func TestCachedTokensAreOfThePrompt(t *testing.T) {
	for seed := range uint64(4) {
		p, _, x := anyPrice(t, seed)
		pairs, last := p.Actions.Len(), len(p.Actions.Experts)-1
		u := &Usage{Quantities: []costs.Quantity{costs.TokensIn, costs.TokensCached}, Mean: make([]float64, 2*pairs)}
		said := make([]float64, 2*pairs)
		for i := range pairs {
			said[i], said[pairs+i] = 1000, 1500
			u.Mean[i], u.Mean[pairs+i] = 1000, 900
			if j, _ := p.Actions.Pair(i); j == last {
				said[i], u.Mean[i] = 0, math.NaN()
			}
		}
		u.Estimate = estimate.NewConstant(said, p.FeatureDim())
		in, cached := make([]float64, last+1), make([]float64, last+1)
		for j := range last {
			in[j], cached[j] = 300, 100
		}
		u.Prices[costs.TokensIn], u.Prices[costs.TokensCached] = in, cached
		p.Estimate.Usage = u
		out, err := exported(t, p).Decide(t.Context(), x, 20)
		if err != nil {
			t.Fatal(err)
		}
		scores := make([]float64, pairs)
		for n := range 20 {
			if err := p.Scores(scores, x[n*p.FeatureDim():(n+1)*p.FeatureDim()]); err != nil {
				t.Fatal(err)
			}
			for i := range pairs {
				at := n*pairs + i
				j, _ := p.Actions.Pair(i)
				want := map[bool]float32{true: 1500, false: 1000}[j == last]
				if got := out.Usage[costs.TokensCached][at]; p.Actions.Available(i) && got != want {
					t.Errorf("seed %d, pair %d: %g cached tokens, not %g", seed, i, got, want)
				}
				if p.Actions.Available(i) && math.Abs(scores[i]-float64(out.Scores[at])) > 1e-4 {
					t.Errorf("seed %d, pair %d: the score is %g in the file, %g in Go", seed, i, out.Scores[at], scores[i])
				}
			}
		}
	}
}
