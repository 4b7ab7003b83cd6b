package auto

import (
	"cmp"
	"math"
	"slices"

	"pipe/models"
	"pipe/models/estimate"
	"pipe/models/policy"
)

const (
	// curveBins bounds the points among which a curve is fitted. Fewer are taken if less than curveRows estimates would
	// be in each.
	curveBins = 200
	curveRows = 50
)

// calibrated turns the estimates of a blend into expected losses.
type calibrated struct {
	curve     estimate.Curve // of an estimate
	selection estimate.Curve // of how far a pair is behind the chosen one; see policy.Estimate
}

// calibrate fits curves that make estimates of the held-out rows calibrated, and reports how well they do for blocks
// that did not fit them. The curve of estimates is empty if it does not lower the squared error and the calibration error
// there, and the selection if it does not lower the squared error of differences between pairs. What is reported counts
// all rows alike.
func (j *judge) calibrate(estimates []float32, margin float64) (c calibrated, report *policy.Calibration, err error) {
	t := j.t
	said := pairsSaid(t, estimates)
	raw := policy.CalibrationError(policy.Reliability(said, policy.CalibrationBins))
	with := t.crossFitted(said, fitCurve, func(curve estimate.Curve, p policy.CalibrationPoint) float64 { return curve.At(p.Estimate) })
	if t.squaredError(with) < t.squaredError(said) && t.calibrationError(with) < t.calibrationError(said) {
		c.curve, said = fitCurve(said, t.weight), with
	}
	c.selection, said = j.selection(said, estimates, margin)
	report, of := policy.MeasureCalibration(said, t.full.Actions)
	report.Raw, report.Curve, report.Points = raw, len(c.curve.X) > 0, len(c.curve.X)
	for i, own := range of {
		if err := bound(&report.Pairs[i], t, own); err != nil {
			return c, nil, err
		}
	}
	return c, report, nil
}

// selection fits what estimates are too high by to how far a pair is behind the chosen one, and returns the points with that
// subtracted as the other blocks fit it; nothing, if that does not lower the squared error of differences between pairs. Only rows on
// which all losses are known have such differences.
func (j *judge) selection(said []policy.CalibrationPoint, estimates []float32, margin float64) (estimate.Curve, []policy.CalibrationPoint) {
	t, behind := j.t, j.behind(estimates, margin)
	gap := func(p policy.CalibrationPoint) float64 { return float64(behind[p.Row*t.data.Pairs+p.Pair]) }
	fit := func(of []policy.CalibrationPoint, weight func(int) float64) estimate.Curve {
		return fitSelection(t.centred(t.whole(of)), gap, weight)
	}
	with := t.crossFitted(said, fit, func(curve estimate.Curve, p policy.CalibrationPoint) float64 { return p.Estimate - lift(curve, gap(p)) })
	if t.squaredError(t.centred(t.whole(with))) >= t.squaredError(t.centred(t.whole(said))) {
		return estimate.Curve{}, said
	}
	return fit(said, t.weight), with
}

// whole are the points of rows on which all losses are known.
func (t *table) whole(of []policy.CalibrationPoint) []policy.CalibrationPoint {
	return slices.DeleteFunc(slices.Clone(of), func(p policy.CalibrationPoint) bool { return !t.wholly(p.Row) })
}

// centred are the points with losses moved so that the mean error of every row is 0: rows differ by more than pairs do.
func (t *table) centred(of []policy.CalibrationPoint) []policy.CalibrationPoint {
	over, count := make([]float64, len(t.held)), make([]float64, len(t.held))
	for _, p := range of {
		over[p.Row] += p.Estimate - p.Loss
		count[p.Row]++
	}
	out := slices.Clone(of)
	for i, p := range of {
		out[i].Loss += over[p.Row] / count[p.Row]
	}
	return out
}

// crossFitted are the points with estimates by curves that the other blocks fit.
func (t *table) crossFitted(all []policy.CalibrationPoint, fit func([]policy.CalibrationPoint, func(int) float64) estimate.Curve, at func(estimate.Curve, policy.CalibrationPoint) float64) []policy.CalibrationPoint {
	out := slices.Clone(all)
	for _, block := range t.blocks {
		inside := func(p policy.CalibrationPoint) bool { return block.from <= p.Row && p.Row < block.to }
		curve := fit(slices.DeleteFunc(slices.Clone(all), inside), t.weight)
		for i, p := range all {
			if inside(p) {
				out[i].Estimate = at(curve, p)
			}
		}
	}
	return out
}

// behind is by how much a pair is estimated to cost more than the one that the policy takes, held-out rows x pairs; 0 for
// that pair. The rows take the prices in turn.
func (j *judge) behind(estimates []float32, margin float64) []float32 {
	t, pairs := j.t, j.t.data.Pairs
	out := make([]float32, len(estimates))
	for n := range t.held {
		p := j.prices[n%len(j.prices)]
		least := math.Inf(1)
		cost := make([]float64, pairs)
		for i := range cost {
			cost[i] = float64(estimates[n*pairs+i]) + t.careOf(i) + p.expected(t, n, i)
			if i == p.fixed {
				cost[i] -= margin
			}
			if t.data.Mask[i] {
				least = min(least, cost[i])
			}
		}
		for i, v := range cost {
			out[n*pairs+i] = float32(v - least)
		}
	}
	return out
}

// lift is what a curve of a selection says; 0 if it is empty.
func lift(c estimate.Curve, gap float64) float64 {
	if len(c.X) == 0 {
		return 0
	}
	return c.At(gap)
}

// selectionBins bounds the points of the curve of a selection behind the first one.
const selectionBins = 12

// fitSelection is isotonic regression of what estimates are too high on gap. The chosen pairs, whose gap is 0, are a point of
// their own.
func fitSelection(of []policy.CalibrationPoint, gap func(policy.CalibrationPoint) float64, weight func(row int) float64) estimate.Curve {
	var chosen, others []policy.CalibrationPoint
	for _, p := range of {
		q := policy.CalibrationPoint{Estimate: gap(p), Loss: p.Estimate - p.Loss, Pair: p.Pair, Row: p.Row}
		if q.Estimate == 0 {
			chosen = append(chosen, q)
		} else {
			others = append(others, q)
		}
	}
	return rising(append(pool(chosen, 1, weight), pool(others, min(selectionBins, len(others)/curveRows), weight)...), 1e-6*largest(of))
}

// within is the curve, or if it is empty the one that keeps estimates within the losses of training: ridge regression can
// go beyond them.
func (t *table) within(c estimate.Curve) estimate.Curve {
	limits := estimate.Curve{X: []float64{t.low, t.high}, Y: []float64{t.low, t.high}}
	if len(c.X) > 0 || limits.Check() != nil {
		return c
	}
	return limits
}

// squaredError is the sum over the points, by the weights of their rows.
func (t *table) squaredError(points []policy.CalibrationPoint) (sum float64) {
	for _, p := range points {
		sum += t.weight(p.Row) * (p.Estimate - p.Loss) * (p.Estimate - p.Loss)
	}
	return sum
}

// calibrationError is that of policy.CalibrationError, with bins whose rows count by their weights.
func (t *table) calibrationError(points []policy.CalibrationPoint) (e float64) {
	total := 0.0
	for _, b := range pool(points, policy.CalibrationBins, t.weight) {
		e += math.Abs(b.estimate-b.loss) * b.weight
		total += b.weight
	}
	return e / max(total, math.SmallestNonzeroFloat64)
}

// points are the weighted means of some estimates and of their losses.
type points struct{ estimate, loss, weight float64 }

// pool are the means of up to n bins with about as many points each, as in policy.Reliability. weight is that of a row.
func pool(of []policy.CalibrationPoint, n int, weight func(row int) float64) (out []points) {
	sorted := slices.Clone(of)
	slices.SortStableFunc(sorted, func(a, b policy.CalibrationPoint) int { return cmp.Compare(a.Estimate, b.Estimate) })
	for i := range n {
		bin := sorted[i*len(sorted)/n : (i+1)*len(sorted)/n]
		if len(bin) == 0 {
			continue
		}
		var p points
		for _, v := range bin {
			p.weight += weight(v.Row)
		}
		for _, v := range bin {
			p.estimate += weight(v.Row) * v.Estimate / p.weight
			p.loss += weight(v.Row) * v.Loss / p.weight
		}
		out = append(out, p)
	}
	return out
}

// pairsSaid has what is said about every existing pair of the held-out rows whose loss is known, by ascending estimate. Rows are positions in
// held.
func pairsSaid(t *table, estimates []float32) []policy.CalibrationPoint {
	var out []policy.CalibrationPoint
	pairs := t.data.Pairs
	for n, row := range t.held {
		for i, y := range t.data.Losses(row) {
			if t.data.Mask[i] && t.knows(n, i) {
				out = append(out, policy.CalibrationPoint{Estimate: float64(estimates[n*pairs+i]), Loss: float64(y), Pair: i, Row: n})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b policy.CalibrationPoint) int { return cmp.Compare(a.Estimate, b.Estimate) })
	return out
}

// fitCurve is isotonic regression of the means of bins. Points in another unit give the same curve in that unit. weight is
// that of a row.
func fitCurve(of []policy.CalibrationPoint, weight func(row int) float64) estimate.Curve {
	return rising(pool(of, min(curveBins, len(of)/curveRows), weight), 1e-6*largest(of))
}

// largest is the largest size of an estimate or a loss.
func largest(of []policy.CalibrationPoint) (out float64) {
	for _, p := range of {
		out = max(out, math.Abs(p.Estimate), math.Abs(p.Loss))
	}
	return out
}

// rising is the curve through points by ascending estimate, of which neighbours that do not rise are pooled. Steps up to
// least are too small for float32.
func rising(of []points, least float64) (c estimate.Curve) {
	var pools []points
	for _, b := range of {
		pools = append(pools, b)
		for n := len(pools); n > 1 && !rises(pools[n-2], pools[n-1], least); n = len(pools) {
			pools = append(pools[:n-2], pooled(pools[n-2], pools[n-1]))
		}
	}
	if len(pools) < 2 {
		return c
	}
	for _, p := range pools {
		c.X, c.Y = append(c.X, p.estimate), append(c.Y, p.loss)
	}
	return c
}

// rises reports whether a curve can go from a to b, by steps above the least that float32 can tell apart.
func rises(a, b points, least float64) bool {
	return b.estimate-a.estimate > max(least, 1e-6*math.Abs(b.estimate)) && b.loss-a.loss > least
}

func pooled(a, b points) points {
	both := a.weight + b.weight
	share := a.weight / both
	return points{estimate: share*a.estimate + (1-share)*b.estimate, loss: share*a.loss + (1-share)*b.loss, weight: both}
}

// bound adds the bounds of loss minus estimate to what is reported of a pair.
func bound(p *policy.CalibrationPair, t *table, of []policy.CalibrationPoint) (err error) {
	var over []float64
	var rows []int
	for _, v := range of {
		over, rows = append(over, v.Loss-v.Estimate), append(rows, v.Row)
	}
	if p.Low, p.High, err = t.interval(over, rows, 0.95); err != nil {
		return err
	}
	if math.IsInf(p.Low, 0) { // a single set of rows has no bound
		p.Low, _ = models.MeanStd(over)
		p.High = p.Low
	}
	return nil
}
