package auto

import (
	"context"
	"math"
	"slices"

	"pipe/models/policy"
)

// clearBy says when a verdict is clear: if its distance from the other one, in standard errors of the gain, is at least
// this divided by the root of the number of draws. The distance of one draw has a standard deviation of about 0.7 around
// its mean over draws. Another inner split also has other rows that judge, which counts more.
const (
	clearBy      = 2.0
	clearByInner = 2.5
)

// verdict is that of the guard for the prices of one policy, with the decisions of the first draw.
type verdict struct {
	judge   *judge
	options [][]option // by price and held-out row
	margin  []float64  // by held-out row
	guard   policy.Guard
	draws   []guarded
	mean    guarded // of draws
}

// verdicts are those for the prices of each policy; none if nothing could be held out. While one is close, its gains and bounds are
// averaged over more draws of folds, of which one at a time is in memory. The draws share their rows, so the mean bound is
// as far below the mean gain as those of single draws are.
func (d draws) verdicts(ctx context.Context, prices [][]price) ([]verdict, error) {
	if d.first.members == nil {
		return nil, nil
	}
	var all []verdict
	for _, of := range prices {
		v := verdict{judge: &judge{t: d.first.table, s: d.s, prices: of}}
		var err error
		if v.options, v.margin, v.mean, err = d.first.guard(v.judge); err != nil {
			return nil, err
		}
		v.draws = []guarded{v.mean}
		all = append(all, v)
	}
	for number := 1; number < d.most() && slices.ContainsFunc(all, d.close); number++ {
		next, err := d.first.again(ctx, number, d.s, d.o)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if v := &all[i]; d.close(*v) {
				_, _, g, err := next.guard(&judge{t: next.table, s: d.s, prices: v.judge.prices})
				if err != nil {
					return nil, err
				}
				v.draws = append(v.draws, g)
				v.mean = meanOf(v.draws)
			}
		}
	}
	for i := range all {
		all[i].settle(d.close(all[i]))
	}
	return all, nil
}

// settle sets the guard's report.
func (v *verdict) settle(isClose bool) {
	v.guard = v.mean.Guard
	v.guard.Close = isClose
	if len(v.draws) > 1 {
		v.guard.Draws = len(v.draws)
	}
	passes, _ := v.guard.Verdict()
	v.guard.Fallback = !passes
}

// guard is what the guard finds on one draw, and its decisions.
func (d draw) guard(j *judge) (options [][]option, margin []float64, g guarded, err error) {
	if options, margin, err = j.nested(d.members); err == nil {
		g, err = j.guard(options, margin)
	}
	if err != nil || j.t.logged == nil {
		return options, margin, g, err
	}
	// Of a log, folds may choose quite differently. So what all rows choose must pass too.
	final, same, err := j.final(d.members)
	if err != nil {
		return options, margin, g, err
	}
	if of, err := j.guard(final, same); err != nil || of.LowerBound < g.LowerBound {
		return final, same, of, err
	}
	return options, margin, g, nil
}

// close reports whether a mean over draws may have another sign over other draws.
func (d draws) close(v verdict) bool {
	by := clearBy
	if len(d.first.folds) == 1 {
		by = clearByInner
	}
	return math.Abs(v.mean.distance()) < by/math.Sqrt(float64(len(v.draws)))
}

// decided are the decisions behind the verdict, by price: those of the best fixed pair if the policy does not pass.
func (v verdict) decided() [][]Decided {
	t, out := v.judge.t, make([][]Decided, len(v.judge.prices))
	for i, p := range v.judge.prices {
		for n, row := range t.held {
			of := Decided{Row: t.rows[row], Action: p.fixed}
			if !v.guard.Fallback {
				of.Action = v.options[i][n].choice(v.margin[n], p.fixed)
			}
			out[i] = append(out[i], of)
		}
	}
	return out
}
