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
