package pipeline

import (
	"fmt"

	"pipe/costs"
	"pipe/onnx/ort"
)

// checkInMemory checks what a caller passes in memory, and returns the problems of the options before others. The
// checks are fast compared with training and evaluation, and what was read from a file passes them.
func checkInMemory(rt *ort.Runtime, t *costs.Tensor, options error) error {
	if err := checkReady(rt, options); err != nil {
		return err
	}
	return t.Validate()
}

// checkReady is checkInMemory without a tensor.
func checkReady(rt *ort.Runtime, options error) error {
	switch {
	case options != nil:
		return options
	case rt == nil:
		return ort.ErrNoRuntime
	}
	return nil
}

// checkRows checks a tensor in memory and indices of its rows.
func checkRows(rt *ort.Runtime, t *costs.Tensor, rows []int) error {
	if err := checkInMemory(rt, t, nil); err != nil {
		return err
	}
	for _, n := range rows {
		if n < 0 || n >= t.Len() {
			return &costs.DataError{Msg: fmt.Sprintf("there is no row %d: the tensor has rows 0 to %d", n, t.Len()-1)}
		}
	}
	return nil
}
