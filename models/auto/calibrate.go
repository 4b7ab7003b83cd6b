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
func calibrate(t *table, estimates []float32) (estimate.Curve, *policy.Calibration, error) {
	all := pairsSaid(t, estimates)
	fitted := slices.Clone(all)
	for _, block := range t.blocks {
		inside := func(p policy.CalibrationPoint) bool { return block.from <= p.Row && p.Row < block.to }
		curve := fitCurve(slices.DeleteFunc(slices.Clone(all), inside))
		for i, p := range all {
			if inside(p) {
				fitted[i].Estimate = curve.At(p.Estimate)
			}
		}
	}
	raw := policy.CalibrationError(policy.Reliability(all, policy.CalibrationBins))
	var curve estimate.Curve
	if squaredError(fitted) < squaredError(all) && policy.CalibrationError(policy.Reliability(fitted, policy.CalibrationBins)) < raw {
		curve, all = fitCurve(all), fitted
	}
	c, of := policy.MeasureCalibration(all, t.full.Actions)
	c.Raw, c.Curve, c.Points = raw, len(curve.X) > 0, len(curve.X)
	for i, points := range of {
		if err := bound(&c.Pairs[i], t, points); err != nil {
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

func squaredError(points []policy.CalibrationPoint) (sum float64) {
	for _, p := range points {
		sum += (p.Estimate - p.Loss) * (p.Estimate - p.Loss)
	}
	return sum
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
// give the same curve in that unit.
func fitCurve(points []policy.CalibrationPoint) estimate.Curve {
	largest := 0.0
	for _, p := range points {
		largest = max(largest, math.Abs(p.Estimate), math.Abs(p.Loss))
	}
	least := 1e-6 * largest // smaller steps are too small for float32
	var pools []policy.CalibrationBin
	for _, b := range policy.Reliability(points, min(curveBins, len(points)/curveRows)) {
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
		c.X, c.Y = append(c.X, p.Estimate), append(c.Y, p.Loss)
	}
	return c
}

// rises reports whether a curve can go from a to b, by steps above the least.
func rises(a, b policy.CalibrationBin, least float64) bool {
	return b.Estimate-a.Estimate > least && b.Loss-a.Loss > least
}

func pooled(a, b policy.CalibrationBin) policy.CalibrationBin {
	n := a.Count + b.Count
	share := float64(a.Count) / float64(n)
	return policy.CalibrationBin{Estimate: share*a.Estimate + (1-share)*b.Estimate, Loss: share*a.Loss + (1-share)*b.Loss, Count: n}
}

// bound adds the bounds of loss minus estimate to what is reported of a pair.
func bound(p *policy.CalibrationPair, t *table, points []policy.CalibrationPoint) (err error) {
	var over []float64
	var rows []int
	for _, v := range points {
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
