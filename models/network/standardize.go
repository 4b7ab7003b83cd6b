package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/internal/finite"
)

// Standardizer centres and scales columns: x' = (x - Mean) * Scale. Both slices have a value per column. If they are
// nil, it changes nothing.
type Standardizer struct {
	Mean, Scale []float32
}

// Check returns why the standardizer cannot take rows of dim features: a different width, or values that are not
// finite; nil if it can.
func (s Standardizer) Check(dim int) error {
	if s.Mean == nil && s.Scale == nil {
		return nil
	}
	if len(s.Mean) != dim || len(s.Scale) != dim {
		return fmt.Errorf("standardizer has %d means and %d scales for %d features", len(s.Mean), len(s.Scale), dim)
	}
	if finite.First(s.Mean) >= 0 || finite.First(s.Scale) >= 0 {
		return errors.New("standardizer has a value that is not finite")
	}
	return nil
}

// Apply returns the standardised copy of features, n x dim.
func (s Standardizer) Apply(features []float32, dim int) []float32 {
	out := slices.Clone(features)
	if s.Mean == nil {
		return out
	}
	for start := 0; start < len(out); start += dim {
		for c, v := range out[start : start+dim] {
			out[start+c] = (v - s.Mean[c]) * s.Scale[c]
		}
	}
	return out
}

// FitStandardizer returns the standardizer that gives every column of the given rows of features (n x dim) mean 0 and
// population standard deviation 1; nil rows means all. A column that is constant on these rows gets scale 0, so a
// different value later has no effect, instead of a very large one.
func FitStandardizer(features []float32, dim int, rows []int) Standardizer {
	s := Standardizer{Mean: make([]float32, dim), Scale: make([]float32, dim)}
	count := len(rows)
	if rows == nil {
		count = len(features) / max(1, dim)
	}
	at := func(m int) []float32 {
		if rows != nil {
			m = rows[m]
		}
		return features[m*dim : (m+1)*dim]
	}
	mean, square := make([]float64, dim), make([]float64, dim)
	for m := range count {
		for c, v := range at(m) {
			mean[c] += float64(v) / float64(count)
		}
	}
	for m := range count {
		for c, v := range at(m) {
			square[c] += (float64(v) - mean[c]) * (float64(v) - mean[c]) / float64(count)
		}
	}
	for c := range dim {
		s.Mean[c] = float32(mean[c])
		// Due to rounding, a constant column can have a tiny spread in float64.
		if std := math.Sqrt(square[c]); std > 1e-7*math.Abs(mean[c]) && std > 1e-30 {
			s.Scale[c] = float32(1 / std)
		}
	}
	return s
}
