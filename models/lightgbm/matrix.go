package lightgbm

import (
	"fmt"
	"math"
)

// matrix is row-major.
type matrix struct {
	x          []float32
	rows, cols int
}

func (m matrix) row(i int) []float32 { return m.x[i*m.cols : (i+1)*m.cols] }

func checkMatrix(x []float32, rows, cols int) error {
	if rows < 1 || cols < 1 || rows > math.MaxInt32 || cols > math.MaxInt32 {
		return fmt.Errorf("a matrix of %d x %d", rows, cols)
	}
	if len(x) != rows*cols {
		return fmt.Errorf("%d values for a matrix of %d x %d", len(x), rows, cols)
	}
	return nil
}

func checkLabels(label []float32, rows int) error {
	if len(label) != rows {
		return fmt.Errorf("%d labels for %d rows", len(label), rows)
	}
	positive := 0
	for i, y := range label {
		if y != 0 && y != 1 {
			return fmt.Errorf("row %d: label %g: must be 0 or 1", i, y)
		}
		positive += int(y)
	}
	if positive == 0 || positive == len(label) {
		return fmt.Errorf("every label is %d: two classes are needed", min(positive, 1))
	}
	return nil
}

func checkWeights(weight []float32, rows int) error {
	if weight == nil {
		return nil
	}
	if len(weight) != rows {
		return fmt.Errorf("%d weights for %d rows", len(weight), rows)
	}
	for i, w := range weight {
		if !(w > 0) || math.IsInf(float64(w), 0) {
			return fmt.Errorf("row %d: weight %g: must be finite and more than 0", i, w)
		}
	}
	return nil
}
