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

// calibrate fits a curve that makes estimates of the held-out rows calibrated, and reports how well it does for blocks
// that did not fit it. The curve is empty if it does not lower both the squared error and the calibration error there.
// What is reported counts all rows alike.
func calibrate(t *table, estimates []float32) (estimate.Curve, *policy.Calibration, error) {
	all := pairsSaid(t, estimates)
	fitted := slices.Clone(all)
	for _, block := range t.blocks {
		inside := func(p policy.CalibrationPoint) bool { return block.from <= p.Row && p.Row < block.to }
		curve := fitCurve(slices.DeleteFunc(slices.Clone(all), inside), t.weight)
		for i, p := range all {
			if inside(p) {
				fitted[i].Estimate = curve.At(p.Estimate)
			}
		}
	}
	raw := policy.CalibrationError(policy.Reliability(all, policy.CalibrationBins))
	var curve estimate.Curve
	if t.squaredError(fitted) < t.squaredError(all) && t.calibrationError(fitted) < t.calibrationError(all) {
		curve, all = fitCurve(all, t.weight), fitted
	}
	c, of := policy.MeasureCalibration(all, t.full.Actions)
	c.Raw, c.Curve, c.Points = raw, len(curve.X) > 0, len(curve.X)
	for i, own := range of {
		if err := bound(&c.Pairs[i], t, own); err != nil {
			return curve, nil, err
		}
	}
	return curve, c, nil
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

// pairsSaid has what is said about every existing pair of the held-out rows, by ascending estimate. Rows are positions in
// held.
func pairsSaid(t *table, estimates []float32) []policy.CalibrationPoint {
	var out []policy.CalibrationPoint
	pairs := t.data.Pairs
	for n, row := range t.held {
		for i, y := range t.data.Losses(row) {
			if t.data.Mask[i] {
				out = append(out, policy.CalibrationPoint{Estimate: float64(estimates[n*pairs+i]), Loss: float64(y), Pair: i, Row: n})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b policy.CalibrationPoint) int { return cmp.Compare(a.Estimate, b.Estimate) })
	return out
}

// fitCurve is isotonic regression of the means of bins, by pooling neighbours that do not rise. Points in another unit
// give the same curve in that unit. weight is that of a row.
func fitCurve(of []policy.CalibrationPoint, weight func(row int) float64) estimate.Curve {
	largest := 0.0
	for _, p := range of {
		largest = max(largest, math.Abs(p.Estimate), math.Abs(p.Loss))
	}
	least := 1e-6 * largest // smaller steps are too small for float32
	var pools []points
	for _, b := range pool(of, min(curveBins, len(of)/curveRows), weight) {
		pools = append(pools, b)
		for n := len(pools); n > 1 && !rises(pools[n-2], pools[n-1], least); n = len(pools) {
			pools = append(pools[:n-2], pooled(pools[n-2], pools[n-1]))
		}
	}
	var c estimate.Curve
	if len(pools) < 2 {
		return c
	}
	for _, p := range pools {
		c.X, c.Y = append(c.X, p.estimate), append(c.Y, p.loss)
	}
	return c
}

// rises reports whether a curve can go from a to b, by steps above the least.
func rises(a, b points, least float64) bool {
	return b.estimate-a.estimate > least && b.loss-a.loss > least
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
