package featurize

import (
	"errors"
	"fmt"

	"pipe/onnx"
)

// RowError says which row of a call cannot be encoded.
type RowError struct {
	Row int // from 0
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap returns the underlying error.
func (e *RowError) Unwrap() error { return e.Err }

// vectorsOf copies vectors of rows out and checks them.
func vectorsOf(t *onnx.Tensor, rows, dim int) ([]float32, error) {
	if len(t.Shape) != 2 || t.Shape[0] != int64(rows) || t.Shape[1] != int64(dim) {
		return nil, fmt.Errorf("encode tensors: the graph returns vectors of shape %v, not %d x %d", t.Shape, rows, dim)
	}
	out := make([]float32, rows*dim)
	for n := range rows {
		if !decodeRow(out[n*dim:(n+1)*dim], t.Raw[4*n*dim:]) {
			return nil, fmt.Errorf("encode tensors: %w", &RowError{n, errors.New("the vector is not finite")})
		}
	}
	return out, nil
}
