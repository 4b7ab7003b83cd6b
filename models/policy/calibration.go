package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/strictjson"
)

// CalibrationBins is the number of bins of a reliability diagram.
const CalibrationBins = 15

// Calibration compares estimated losses with those that came true on rows that did not train. It is of all pairs of the
// held-out rows, with a curve that was fitted on the other blocks of rows.
type Calibration struct {
	Error  float64           `json:"error"`  // expected calibration error: mean over Bins of |Estimate - Loss|, weighted by Count
	Raw    float64           `json:"raw"`    // the same without the curve
	Curve  bool              `json:"curve"`  // whether a curve was fitted: it lowers the squared error and this error
	Points int               `json:"points"` // of the curve
	Bins   []CalibrationBin  `json:"bins"`   // reliability diagram: bins with the same number of estimates, ascending
	Pairs  []CalibrationPair `json:"pairs"`
}

// Calibration returns the calibration in the file, without its bins; nil if it has none.
func (i *Info) Calibration() (*Calibration, error) {
	text, ok := i.Info[CalibrationKey]
	if !ok {
		return nil, nil
	}
	c := new(Calibration)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("metadata %s%s: %w", keyPrefix, CalibrationKey, strictjson.Plain(err))
	}
	for _, p := range c.Pairs {
		if !isFinite(p.Error) || !isFinite(p.Low) || !isFinite(p.High) || p.Error < 0 {
			return nil, fmt.Errorf("metadata %s%s: the figures of %s are no bounds", keyPrefix, CalibrationKey, p.Pair)
		}
	}
	return c, nil
}

// CalibrationBin are the means of Count estimates and of the losses that belong to them, in the unit of the task loss.
type CalibrationBin struct {
	Estimate float64 `json:"estimate"`
	Loss     float64 `json:"loss"`
	Count    int     `json:"count"`
}

// CalibrationPair are the means over the held-out rows for one pair. Low and High bound the mean of loss minus estimate,
// each with a confidence of 95%.
type CalibrationPair struct {
	Pair     string  `json:"pair"`
	Estimate float64 `json:"estimate"`
	Loss     float64 `json:"loss"`
	Error    float64 `json:"error"` // expected calibration error of this pair
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// CalibrationPoint is the estimate of the loss of a pair on a row, and the loss that came true.
type CalibrationPoint struct {
	Estimate, Loss float64
	Pair           int
	Row            int // whatever the caller counts
}

// MeasureCalibration compares estimates with losses: Error, Bins and Pairs, which are those of a that have points. Their
// bounds are left to the caller: of has the points of each, in the order of points.
func MeasureCalibration(points []CalibrationPoint, a *costs.Actions) (c *Calibration, of [][]CalibrationPoint) {
	c = &Calibration{Bins: Reliability(points, CalibrationBins)}
	c.Error = CalibrationError(c.Bins)
	byPair := make([][]CalibrationPoint, a.Len())
	for _, p := range points {
		byPair[p.Pair] = append(byPair[p.Pair], p)
	}
	for i, own := range byPair {
		if len(own) == 0 {
			continue
		}
		p := MeasurePair(own)
		p.Pair = a.Name(i)
		c.Pairs, of = append(c.Pairs, p), append(of, own)
	}
	return c, of
}

// MeasurePair has the means and the calibration error of some points, without a name and bounds.
func MeasurePair(points []CalibrationPoint) CalibrationPair {
	p := CalibrationPair{Error: CalibrationError(Reliability(points, CalibrationBins))}
	for _, v := range points {
		p.Estimate += v.Estimate / float64(len(points))
		p.Loss += v.Loss / float64(len(points))
	}
	return p
}

// Reliability are the means of up to n bins, by ascending estimate, with about as many points each.
func Reliability(points []CalibrationPoint, n int) []CalibrationBin {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b CalibrationPoint) int { return cmp.Compare(a.Estimate, b.Estimate) })
	var out []CalibrationBin
	for i := range n {
		from, to := i*len(sorted)/n, (i+1)*len(sorted)/n
		if from == to {
			continue
		}
		b := CalibrationBin{Count: to - from}
		for _, v := range sorted[from:to] {
			b.Estimate += v.Estimate / float64(b.Count)
			b.Loss += v.Loss / float64(b.Count)
		}
		out = append(out, b)
	}
	return out
}

// CalibrationError is the expected calibration error of a reliability diagram: the mean distance of estimate and loss over
// its bins, weighted by their counts; 0 for none.
func CalibrationError(bins []CalibrationBin) (e float64) {
	count := 0
	for _, b := range bins {
		e += math.Abs(b.Estimate-b.Loss) * float64(b.Count)
		count += b.Count
	}
	return e / float64(max(1, count))
}
