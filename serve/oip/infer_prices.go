package oip

import (
	"encoding/binary"
	"math"

	"pipe/models/policy"
	"pipe/onnx"
)

// checkPrices refuses prices and masks of an any-price policy with which it cannot decide. It names the row.
func checkPrices(inputs map[string]*onnx.Tensor) error {
	if t := inputs[policy.AdviceFeesInput]; t != nil && t.DType == onnx.Float32 && len(t.Shape) == 2 {
		for row := range int(t.Shape[0]) {
			if fee := math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[row*int(t.Shape[1])*4:])); fee != 0 {
				return problemf(invalid, "input %q: row %d: the first fee is %g, but no advice is free", policy.AdviceFeesInput, row, fee)
			}
		}
	}
	if t := inputs[policy.AvailableInput]; t != nil && t.DType == onnx.Bool && len(t.Shape) == 2 {
		for row := range int(t.Shape[0]) {
			if !anySet(t.Raw[row*int(t.Shape[1]) : (row+1)*int(t.Shape[1])]) {
				return problemf(invalid, "input %q: row %d: no pair may be chosen", policy.AvailableInput, row)
			}
		}
	}
	return nil
}

func anySet(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return true
		}
	}
	return false
}
