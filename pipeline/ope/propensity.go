package ope

import (
	"context"
	"math"
)

// Calibration says how far estimated propensities are those with which pairs were executed.
type Calibration struct {
	Rows  int              `json:"rows"` // whose propensity is estimated
	Error float64          `json:"error"` // mean difference between estimate and frequency, over the bins
	Bins  []CalibrationBin `json:"bins"`
}

// CalibrationBin has rows and pairs with similar estimates.
type CalibrationBin struct {
	From      float64 `json:"from"`
	To        float64 `json:"to"`
	Cells     int     `json:"cells"`
	Estimated float64 `json:"estimated"` // mean
	Executed  float64 `json:"executed"`  // share
}

func (r *rows) estimatePropensities(_ context.Context, _ uint64, _ *Report) error {
	_ = math.NaN
	return nil
}
