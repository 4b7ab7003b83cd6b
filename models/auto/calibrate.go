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
	calibrationBins = 15
	// curveBins bounds the points among which a curve is fitted. Fewer are taken if less than curveRows estimates would
	// be in each.
	curveBins = 200
	curveRows = 50
)

// said is an estimate, the loss that came true, and the block of its row.
type said struct {
	estimate, loss float64
	block, pair    int
	row            int // position in held
}

// calibrate fits a curve that makes estimates of the held-out rows calibrated, and reports how well it does for blocks
// that did not fit it. The curve is empty if the squared error is not smaller with it.
func calibrate(t *table, estimates []float32) (estimate.Curve, *policy.Calibration, error) {
	all := pairsSaid(t, estimates)
	fitted := make([]float64, len(all))
	with, without := 0.0, 0.0
	for b := range t.blocks {
		curve := fitCurve(slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s.block == b }))
		for i, s := range all {
			if s.block == b {
				fitted[i] = curve.At(s.estimate)
				with += (fitted[i] - s.loss) * (fitted[i] - s.loss)
				without += (s.estimate - s.loss) * (s.estimate - s.loss)
			}
		}
	}
	c := &policy.Calibration{Raw: calibrationError(bins(all))}
	var curve estimate.Curve
	if with < without {
		curve = fitCurve(all)
		for i := range all {
			all[i].estimate = fitted[i]
		}
	}
	c.Curve, c.Points = len(curve.X) > 0, len(curve.X)
	c.Bins = bins(all)
	c.Error = calibrationError(c.Bins)
	err := addPairs(c, t, all)
	return curve, c, err
}

// pairsSaid has what is said about every existing pair of the held-out rows, by ascending estimate.
func pairsSaid(t *table, estimates []float32) []said {
	var out []said
	pairs := t.data.Pairs
	for b, span := range t.blocks {
		for n := span.from; n < span.to; n++ {
			for i, y := range t.data.Losses(t.held[n]) {
				if t.data.Mask[i] {
					out = append(out, said{estimate: float64(estimates[n*pairs+i]), loss: float64(y), block: b, pair: i, row: n})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b said) int { return cmp.Compare(a.estimate, b.estimate) })
	return out
}

// fitCurve is isotonic regression of the means of bins, by pooling neighbours that do not rise. s is sorted.
func fitCurve(s []said) estimate.Curve {
	var pools []policy.CalibrationBin
	for _, b := range binned(s, min(curveBins, len(s)/curveRows)) {
		pools = append(pools, b)
		for n := len(pools); n > 1 && !rises(pools[n-2], pools[n-1]); n = len(pools) {
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

// rises reports whether a curve can go from a to b. Steps too small for float32 do not count.
func rises(a, b policy.CalibrationBin) bool {
	least := 1e-6 * max(1, math.Abs(b.Estimate), math.Abs(b.Loss))
	return b.Estimate-a.Estimate > least && b.Loss-a.Loss > least
}

func pooled(a, b policy.CalibrationBin) policy.CalibrationBin {
	n := a.Count + b.Count
	share := float64(a.Count) / float64(n)
	return policy.CalibrationBin{Estimate: share*a.Estimate + (1-share)*b.Estimate, Loss: share*a.Loss + (1-share)*b.Loss, Count: n}
}

// binned are the means of up to n bins with about as many estimates each. s is sorted by estimate.
func binned(s []said, n int) []policy.CalibrationBin {
	var out []policy.CalibrationBin
	for i := range n {
		from, to := i*len(s)/n, (i+1)*len(s)/n
		if from == to {
			continue
		}
		b := policy.CalibrationBin{Count: to - from}
		for _, v := range s[from:to] {
			b.Estimate += v.estimate / float64(b.Count)
			b.Loss += v.loss / float64(b.Count)
		}
		out = append(out, b)
	}
	return out
}

// bins are those of a reliability diagram; s is sorted anew, since a curve per block changes the order.
func bins(s []said) []policy.CalibrationBin {
	s = slices.Clone(s)
	slices.SortStableFunc(s, func(a, b said) int { return cmp.Compare(a.estimate, b.estimate) })
	return binned(s, calibrationBins)
}

func calibrationError(bins []policy.CalibrationBin) (e float64) {
	count := 0
	for _, b := range bins {
		e += math.Abs(b.Estimate-b.Loss) * float64(b.Count)
		count += b.Count
	}
	return e / float64(max(1, count))
}

// addPairs reports every pair.
func addPairs(c *policy.Calibration, t *table, all []said) error {
	of := make([][]said, t.data.Pairs)
	for _, s := range all {
		of[s.pair] = append(of[s.pair], s)
	}
	for i, own := range of {
		if len(own) == 0 {
			continue
		}
		p := policy.CalibrationPair{Pair: t.full.Actions.Name(i), Error: calibrationError(bins(own))}
		var over []float64
		var rows []int
		for _, s := range own {
			p.Estimate += s.estimate / float64(len(own))
			p.Loss += s.loss / float64(len(own))
			over, rows = append(over, s.loss-s.estimate), append(rows, s.row)
		}
		var err error
		if p.Low, p.High, err = t.interval(over, rows, 0.95); err != nil {
			return err
		}
		if math.IsInf(p.Low, 0) { // a single set of rows has no bound
			p.Low, _ = models.MeanStd(over)
			p.High = p.Low
		}
		c.Pairs = append(c.Pairs, p)
	}
	return nil
}
