package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/pipeline/report"
)

// calibrations compare what every reported policy by estimates expects with what came true: those of own, which have fixed
// prices, then the any-price policies.
func (e *evaluation) calibrations(lambdas []float64, own []entry) ([]report.Calibration, error) {
	var policies [][]entry // the decisions of each, one per lambda
	for _, l := range own {
		if e.method(l).NoAdvice || slices.Contains(lambdas, l.Info.Lambda) {
			policies = append(policies, []entry{l})
		}
	}
	for part := range slices.Chunk(e.learned[len(own):], max(1, len(lambdas))) { // see decideAt
		policies = append(policies, part)
	}
	policies = slices.DeleteFunc(policies, func(at []entry) bool { return at[0].Loss == nil })
	first := make([]entry, len(policies))
	for i, at := range policies {
		first[i] = at[0]
	}
	names := e.policyNames(first)
	var out []report.Calibration
	for i, at := range policies {
		c, err := e.calibration(at)
		if err != nil {
			return nil, fmt.Errorf("policy %q: %w", names[i], err)
		}
		c.Policy = names[i]
		out = append(out, c)
	}
	return out, nil
}

// calibration is that of one policy, whose expected losses are the same in all its decisions.
func (e *evaluation) calibration(at []entry) (report.Calibration, error) {
	points, err := e.expected(at[0])
	if err != nil {
		return report.Calibration{}, err
	}
	measured, of := policy.MeasureCalibration(points, e.t.Actions)
	out := report.Calibration{
		Method: at[0].Info.Method, Rows: len(e.rows), Estimates: len(points), Error: measured.Error, Bins: measured.Bins,
		Chosen: make([]report.ChosenCalibration, len(at)), Pairs: make([]report.PairCalibration, len(of)),
	}
	var means []*report.CalibrationMeans
	var series [][]float64
	add := func(m *report.CalibrationMeans, p policy.CalibrationPair, points []policy.CalibrationPoint) {
		*m = report.CalibrationMeans{Estimate: p.Estimate, Loss: p.Loss, Error: p.Error}
		over := make([]float64, len(points))
		for k, v := range points {
			over[k] = v.Loss - v.Estimate
		}
		means, series = append(means, m), append(series, over)
	}
	for i, l := range at {
		chosen := chosenOf(points, l.Action)
		out.Chosen[i].Lambda = l.Info.Lambda
		add(&out.Chosen[i].CalibrationMeans, policy.MeasurePair(chosen), chosen)
	}
	for i, p := range measured.Pairs {
		out.Pairs[i].Pair = p.Pair
		add(&out.Pairs[i].CalibrationMeans, p, of[i])
	}
	return out, e.calibrationIntervals(means, series)
}

// expected are the estimates of all pairs that exist, row by row, with the task loss and the measured fee that came true.
func (e *evaluation) expected(l entry) ([]policy.CalibrationPoint, error) {
	mask := e.t.Actions.Mask()
	var points []policy.CalibrationPoint
	for k, n := range e.rows {
		for i, available := range mask {
			if !available {
				continue
			}
			p := policy.CalibrationPoint{Estimate: float64(l.Loss[k*len(mask)+i]), Loss: float64(e.t.Loss[n*len(mask)+i]), Pair: i, Row: k}
			if math.IsNaN(p.Estimate) || math.IsInf(p.Estimate, 0) {
				return nil, &costs.DataError{Row: n + 1, Msg: fmt.Sprintf("id %q: the expected loss of %s is %v: a damaged file",
					e.t.IDs[n], e.t.Actions.Name(i), p.Estimate)}
			}
			if p.Estimate >= -policy.ExcludedBelow {
				continue // a pair that a log hardly executed: the file says nothing of it
			}
			if j, _ := e.t.Actions.Pair(i); e.t.Fee != nil && !l.Info.Usage.Knows(j) { // else the policy expects the fee apart
				p.Loss += float64(e.t.Fee[n*len(mask)+i])
			}
			points = append(points, p)
		}
	}
	return points, nil
}

// chosenOf are the points of the chosen pairs, one per row.
func chosenOf(points []policy.CalibrationPoint, actions []int) (chosen []policy.CalibrationPoint) {
	for _, p := range points {
		if actions[p.Row] == p.Pair {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// calibrationIntervals adds the intervals of the series to the means. If all rows are one draw, there are none.
func (e *evaluation) calibrationIntervals(means []*report.CalibrationMeans, series [][]float64) error {
	s := models.DefaultBootstrap(e.o.Seed)
	s.Resamples, s.Clusters = e.o.Resamples, e.together.IDs()
	all, err := models.PairedIntervals(s, series...)
	if errors.Is(err, models.ErrOneDraw) {
		return nil
	}
	for i := range all {
		means[i].Diff = (*report.Interval)(&all[i])
	}
	return err
}
