package auto

import (
	"math"

	"pipe/models/policy"
)

// guarded is a verdict of the guard with the standard error of the gain.
type guarded struct {
	policy.Guard
	failure float64
}

// byLog sets how the rows of a log judge: by the lower bound, since a few large weights make gains that are none.
func (g *guarded) byLog(j *judge, options []option, margin []float64) {
	if j.t.logged == nil && j.s.Deployed == nil {
		return
	}
	g.Rule = policy.RuleBound
	decisions := make([]int, len(options))
	for n, o := range options {
		decisions[n] = o.choice(margin[n], j.prices[0].fixed)
	}
	g.Log = j.t.evidence(decisions)
}

// distance is how far the verdict is from the other one, in standard errors: above 0 if the policy passes. What decides
// is the worst of the conditions. A policy that never leaves the fixed pair is far from passing.
func (g guarded) distance() float64 {
	value, least := g.Required()
	far := math.Inf(-1)
	if g.failure > 0 || value > least {
		far = (value - least) / g.failure
	}
	for _, p := range g.Prices {
		if width := p.UpperBound - p.LowerBound; width > 0 {
			far = min(far, p.UpperBound/width*2*priceErrors)
		}
	}
	return far
}

// priceErrors is how many standard errors a bound at policy.PriceConfidence is away from the mean of many rows.
const priceErrors = 1.645

// meanOf averages the figures of several draws for the same prices.
func meanOf(all []guarded) guarded {
	g := all[0]
	g.Prices = append([]policy.PriceGuard(nil), g.Prices...)
	average := func(of func(*guarded) *float64) {
		sum := 0.0
		for i := range all {
			sum += *of(&all[i])
		}
		*of(&g) = sum / float64(len(all))
	}
	for _, of := range []func(*guarded) *float64{
		func(g *guarded) *float64 { return &g.FixedLoss }, func(g *guarded) *float64 { return &g.Learned },
		func(g *guarded) *float64 { return &g.Gain }, func(g *guarded) *float64 { return &g.LowerBound },
		func(g *guarded) *float64 { return &g.failure },
	} {
		average(of)
	}
	for i := range g.Prices {
		for _, of := range []func(*policy.PriceGuard) *float64{
			func(p *policy.PriceGuard) *float64 { return &p.FixedLoss }, func(p *policy.PriceGuard) *float64 { return &p.Learned },
			func(p *policy.PriceGuard) *float64 { return &p.Gain }, func(p *policy.PriceGuard) *float64 { return &p.LowerBound },
			func(p *policy.PriceGuard) *float64 { return &p.UpperBound },
		} {
			average(func(g *guarded) *float64 { return of(&g.Prices[i]) })
		}
	}
	return g
}
