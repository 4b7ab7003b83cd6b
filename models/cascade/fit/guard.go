package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/policy"
)

// judged is what came of the guarded rows.
type judged struct {
	rows []int // of the tensor
	at   []judgedAt
	said [2][]policy.CalibrationPoint // of accepted answers at the first prices: of the one-shot policy, of the cascade
}

// judgedAt is what came of the rows at one of the prices, by row.
type judgedAt struct {
	point
	oneShot, cascade []float64
	fixed            []float64
	pair             string // the best fixed pair, of the first fold
	stages           []int  // pairs that the cascade executed
	money            [][]float64
}

// guard plays cascades and one-shot policies on the folds that they did not learn from. t has training rows only, of which c says
// which belong together; groups are the names of these sets, by row.
func guard(ctx context.Context, t *costs.Tensor, c costs.Clusters, groups []string, p pricing, s Settings, o models.Options) (cascade.Guard, *policy.Calibration, error) {
	var all judged
	for _, at := range p.at {
		all.at = append(all.at, judgedAt{point: at})
	}
	for f, held := range foldsOf(t, c, s) {
		if err := all.fold(ctx, t, groups, held, f, p, s, o); err != nil {
			return cascade.Guard{}, nil, err
		}
	}
	sets := c.Pick(all.rows)
	g, err := all.verdict(sets, all.weights(t, s), s)
	if err != nil {
		return g, nil, err
	}
	said := all.said[1]
	if g.Fallback {
		said = all.said[0]
	}
	calibration, err := calibrationOf(said, sets, t.Actions)
	return g, calibration, err
}

// foldsOf are the rows of every fold: whole clusters, at random. Which one a row is in follows from its id and the others that belong
// to it, so another order of the rows changes little.
func foldsOf(t *costs.Tensor, c costs.Clusters, s Settings) [][]int {
	rows, rank := make([]int, len(c.Of)), make([]uint64, len(c.Of))
	for n := range rows {
		h := fnv.New64a()
		h.Write([]byte(t.IDs[n]))
		rows[n], rank[n] = n, seeded.Source(s.Auto.Seed, "cascade/guard", h.Sum64()).Uint64()
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	out := make([][]int, s.Folds)
	for at, f := range c.Pick(rows).Folds(s.Folds) {
		out[f] = append(out[f], rows[at])
	}
	for f := range out {
		slices.Sort(out[f])
	}
	return out
}

// fold learns from the other rows, and plays on the complete ones of held.
func (j *judged) fold(ctx context.Context, t *costs.Tensor, groups []string, held []int, number int, p pricing, s Settings, o models.Options) error {
	in := make([]bool, t.Len())
	for _, n := range held {
		in[n] = true
	}
	var others []int
	var own []string // groups of the others
	for n, is := range in {
		if !is {
			others, own = append(others, n), append(own, groups[n])
		}
	}
	l := newLearner(t.Subset(others), own, p, s, o)
	l.prefix, l.folder = fmt.Sprintf("guard %d of %d, ", number+1, s.Folds), fmt.Sprintf("guard-%d", number)
	one, _, err := l.oneShot(ctx)
	if err != nil {
		return err
	}
	states, _, err := l.states(ctx)
	if err != nil {
		return err
	}
	rows := t.CompleteRows(held)
	base, err := play(ctx, once(t, p, s, one), t, rows, p.at, o)
	if err != nil {
		return err
	}
	played, err := play(ctx, staged(t, p, s, one, states), t, rows, p.at, o)
	if err != nil {
		return err
	}
	for i := range j.at {
		j.at[i].add(t, rows, fixedPair(one, j.at[i].fees), base[i], played[i])
	}
	for n, row := range rows {
		j.rows = append(j.rows, row)
		for k, p := range []*cascade.Played{base[0], played[0]} {
			j.said[k] = append(j.said[k], policy.CalibrationPoint{Estimate: float64(p.Expected[n]), Loss: p.Loss[n], Pair: p.Accepted[n], Row: len(j.rows) - 1})
		}
	}
	return nil
}

// add appends what came of rows.
func (j *judgedAt) add(t *costs.Tensor, rows []int, fixed int, base, played *cascade.Played) {
	if j.pair == "" {
		j.pair = t.Actions.Name(fixed)
	}
	for n, row := range rows {
		j.fixed = append(j.fixed, float64(t.Losses(row)[fixed])+t.MeasuredFee(row, fixed)+j.fees[fixed])
		j.oneShot, j.cascade = append(j.oneShot, base.Cost(n)), append(j.cascade, played.Cost(n))
		j.stages, j.money = append(j.stages, len(played.Order[n])), append(j.money, played.Fees[n])
	}
}

// play plays a policy as its file, at each of some prices.
func play(ctx context.Context, p *cascade.Policy, t *costs.Tensor, rows []int, at []point, o models.Options) (all []*cascade.Played, err error) {
	m, err := p.Export()
	if err != nil {
		return nil, err
	}
	d, err := cascade.NewDecider(o.Runtime, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for _, of := range at {
		played, err := cascade.Play(ctx, d, t, rows, of.prices)
		if err != nil {
			return nil, err
		}
		all = append(all, played)
	}
	return all, nil
}

// weights are those of the judged rows by their age; nil: all count alike.
func (j *judged) weights(t *costs.Tensor, s Settings) (out []float64) {
	every := s.Auto.HalfLife.Weights(t, t.Rows(costs.Train))
	for _, row := range j.rows {
		if every != nil {
			out = append(out, every[row])
		}
	}
	return out
}

// verdict compares the costs: means over the prices, and at each of them.
func (j *judged) verdict(sets costs.Clusters, weights []float64, s Settings) (g cascade.Guard, err error) {
	g = cascade.Guard{Rows: len(j.rows), Clusters: sets.Len(), Rule: s.Rule, Confidence: s.Confidence}
	g.Stages, g.Money = make([]float64, s.Stages), make([]float64, s.Stages)
	gains, share := make([]float64, len(j.rows)), 1/float64(len(j.at))
	for _, at := range j.at {
		own, of, err := at.compare(sets, weights)
		if err != nil {
			return g, err
		}
		g.OneShot, g.Fixed, g.Cascade = g.OneShot+share*of.oneShot, g.Fixed+share*of.fixed, g.Cascade+share*of.Learned
		g.Prices = append(g.Prices, of.PriceGuard)
		for n, gain := range own {
			gains[n] += share * gain
			g.Stages[at.stages[n]-1] += share / float64(len(own))
			for stage, fee := range at.money[n] {
				g.Money[stage] += share * fee / float64(len(own))
			}
		}
	}
	if len(j.at) == 1 {
		g.Prices = nil
	}
	if g.Gain, g.LowerBound, err = models.WeightedGainLowerBound(gains, weights, sets.IDs(), g.Confidence); err != nil {
		return g, err
	}
	g.UpperBound = 2*g.Gain - g.LowerBound
	g.Fallback = !g.Passes()
	return g, nil
}

// compared are the means at one price.
type compared struct {
	policy.PriceGuard
	oneShot, fixed float64
}

// compare are the gains by row over the better of the one-shot policy and the fixed pair, and their mean.
func (j *judgedAt) compare(sets costs.Clusters, weights []float64) (gains []float64, of compared, err error) {
	of = compared{j.PriceGuard, models.WeightedMean(j.oneShot, weights), models.WeightedMean(j.fixed, weights)}
	against := j.oneShot
	if of.fixed < of.oneShot {
		against = j.fixed
	}
	for n, cost := range against {
		gains = append(gains, cost-j.cascade[n])
	}
	of.PriceGuard.Fixed, of.FixedLoss, of.Learned = j.pair, min(of.oneShot, of.fixed), models.WeightedMean(j.cascade, weights)
	if of.Gain, of.LowerBound, err = models.WeightedGainLowerBound(gains, weights, sets.IDs(), policy.PriceConfidence); err != nil {
		return nil, of, err
	}
	of.UpperBound = 2*of.Gain - of.LowerBound
	return gains, of, nil
}

// calibrationOf compares what was expected of accepted answers with their losses.
func calibrationOf(said []policy.CalibrationPoint, sets costs.Clusters, a *costs.Actions) (*policy.Calibration, error) {
	c, of := policy.MeasureCalibration(said, a)
	c.Raw = c.Error
	ids := sets.IDs()
	for i, own := range of {
		over := make([]float64, len(own))
		var set []int
		for n, p := range own {
			if over[n] = p.Loss - p.Estimate; ids != nil {
				set = append(set, ids[p.Row])
			}
		}
		mean, low, err := models.GainLowerBound(over, set, 0.95)
		if err != nil {
			return nil, err
		}
		if math.IsInf(low, 0) { // a single set of rows has no bound
			low = mean
		}
		c.Pairs[i].Low, c.Pairs[i].High = low, 2*mean-low
	}
	return c, nil
}
