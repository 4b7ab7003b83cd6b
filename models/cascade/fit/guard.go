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

// judged is what came of the guarded rows, by row.
type judged struct {
	rows             []int // of the tensor
	oneShot, cascade []float64
	fixed            []float64
	stages           []int // pairs that the cascade executed
	money            [][]float64
	said             [2][]policy.CalibrationPoint // of accepted answers: of the one-shot policy, of the cascade
}

// guard plays cascades and one-shot policies on the folds that they did not learn from. t has training rows only, of which c says
// which belong together; groups are the names of these sets, by row.
func guard(ctx context.Context, t *costs.Tensor, c costs.Clusters, groups []string, lambda float64, s Settings, o models.Options) (cascade.Guard, *policy.Calibration, error) {
	var all judged
	for f, held := range foldsOf(t, c, s) {
		if err := all.fold(ctx, t, groups, held, f, lambda, s, o); err != nil {
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
func (j *judged) fold(ctx context.Context, t *costs.Tensor, groups []string, held []int, number int, lambda float64, s Settings, o models.Options) error {
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
	l := newLearner(t.Subset(others), own, lambda, s, o)
	l.prefix, l.folder = fmt.Sprintf("guard %d of %d, ", number+1, s.Folds), fmt.Sprintf("guard-%d", number)
	one, report, err := l.oneShot(ctx)
	if err != nil {
		return err
	}
	states, _, err := l.states(ctx)
	if err != nil {
		return err
	}
	rows := t.CompleteRows(held)
	base, err := play(ctx, once(t, lambda, s, one), t, rows, lambda, o)
	if err != nil {
		return err
	}
	played, err := play(ctx, staged(t, lambda, s, one, states), t, rows, lambda, o)
	if err != nil {
		return err
	}
	j.add(t, rows, slices.Index(t.Actions.Names(), report.Guard.Fixed), lambda, base, played)
	return nil
}

// add appends what came of rows.
func (j *judged) add(t *costs.Tensor, rows []int, fixed int, lambda float64, base, played *cascade.Played) {
	for n, row := range rows {
		j.rows = append(j.rows, row)
		j.fixed = append(j.fixed, t.Cost(row, fixed, lambda))
		j.oneShot, j.cascade = append(j.oneShot, base.Cost(n)), append(j.cascade, played.Cost(n))
		j.stages, j.money = append(j.stages, len(played.Order[n])), append(j.money, played.Fees[n])
		for k, p := range []*cascade.Played{base, played} {
			j.said[k] = append(j.said[k], policy.CalibrationPoint{Estimate: float64(p.Expected[n]), Loss: p.Loss[n], Pair: p.Accepted[n], Row: len(j.rows) - 1})
		}
	}
}

// play plays a policy as its file.
func play(ctx context.Context, p *cascade.Policy, t *costs.Tensor, rows []int, lambda float64, o models.Options) (played *cascade.Played, err error) {
	m, err := p.Export()
	if err != nil {
		return nil, err
	}
	d, err := cascade.NewDecider(o.Runtime, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return cascade.Play(ctx, d, t, rows, policy.PricesOf(t.Actions, lambda))
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

// verdict compares the costs.
func (j *judged) verdict(sets costs.Clusters, weights []float64, s Settings) (g cascade.Guard, err error) {
	g = cascade.Guard{Rows: len(j.rows), Clusters: sets.Len(), Rule: s.Rule, Confidence: s.Confidence}
	g.OneShot, g.Fixed, g.Cascade = models.WeightedMean(j.oneShot, weights), models.WeightedMean(j.fixed, weights), models.WeightedMean(j.cascade, weights)
	against := j.oneShot
	if g.Fixed < g.OneShot {
		against = j.fixed
	}
	gains := make([]float64, len(against))
	for n, cost := range against {
		gains[n] = cost - j.cascade[n]
	}
	if g.Gain, g.LowerBound, err = models.WeightedGainLowerBound(gains, weights, sets.IDs(), g.Confidence); err != nil {
		return g, err
	}
	g.UpperBound = 2*g.Gain - g.LowerBound
	g.Stages, g.Money = make([]float64, s.Stages), make([]float64, s.Stages)
	for n, stages := range j.stages {
		g.Stages[stages-1] += 1 / float64(len(j.stages))
		for at, fee := range j.money[n] {
			g.Money[at] += fee / float64(len(j.stages))
		}
	}
	g.Fallback = !g.Passes()
	return g, nil
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
