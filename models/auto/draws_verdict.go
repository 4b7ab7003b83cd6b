package auto

import (
	"context"
	"math"

	"pipe/models/policy"
)

// clearBy says when a verdict is clear: if its distance from the other one, in standard errors of the gain, is at least
// this divided by the root of the number of draws. The distance of one draw has a standard deviation of about 0.7 around
// its mean over draws. Another inner split also has other rows that judge, which counts more.
const (
	clearBy      = 2.0
	clearByInner = 2.5
)

// guarded is a verdict of the guard with the standard error of the gain.
type guarded struct {
	policy.Guard
	failure float64
}

// settle returns the verdict. While it is close it takes more draws of folds, and averages gains and bounds over them. The
// draws share their rows, so the mean bound is as far below the mean gain as those of single draws are.
func (d *draws) settle(ctx context.Context, prices []price, first guarded) (policy.Guard, error) {
	all, mean := []guarded{first}, first
	for d.close(mean, len(all)) && len(all) < d.most() {
		next, err := d.at(ctx, len(all))
		if err != nil {
			return first.Guard, err
		}
		g, err := next.guard(d.s, prices)
		if err != nil {
			return first.Guard, err
		}
		all = append(all, g)
		mean = meanOf(all)
	}
	g := mean.Guard
	g.Close = d.close(mean, len(all))
	if len(all) > 1 {
		g.Draws = len(all)
	}
	passes, _ := g.Verdict()
	g.Fallback = !passes
	return g, nil
}

// guard is the verdict of one draw.
func (d draw) guard(s Settings, prices []price) (guarded, error) {
	j := &judge{t: d.table, s: s, prices: prices}
	options, margin, err := j.nested(d.members)
	if err != nil {
		return guarded{}, err
	}
	return j.guard(options, margin)
}

// close reports whether a mean over a number of draws may have another sign over other draws.
func (d *draws) close(g guarded, number int) bool {
	by := clearBy
	if len(d.of[0].folds) == 1 {
		by = clearByInner
	}
	return math.Abs(g.distance()) < by/math.Sqrt(float64(number))
}

// distance is how far the verdict is from the other one, in standard errors: above 0 if the policy passes. What decides
// is the worst of the conditions. A policy that never leaves the fixed pair is far from passing.
func (g guarded) distance() float64 {
	value := g.LowerBound
	if g.Rule == policy.RuleGain {
		value = g.Gain
	}
	far := math.Inf(-1)
	if g.failure > 0 || value > 0 {
		far = value / g.failure
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
