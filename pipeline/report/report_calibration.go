package report

import (
	"reflect"
	"slices"

	"pipe/models/policy"
)

// Calibration compares the losses that a policy by estimates expects with those that came true on the reported rows.
// Losses are task losses with measured fees, and so do not depend on prices; which pairs are chosen does.
type Calibration struct {
	Setting   string                  `json:"setting,omitempty"`
	Policy    string                  `json:"policy"` // its file, or method and lambda
	Method    string                  `json:"method"`
	Rows      int                     `json:"rows"`
	Estimates int                     `json:"estimates"` // of all rows and pairs that exist
	Error     float64                 `json:"error"`     // expected calibration error of these, see policy.Calibration
	Chosen    []ChosenCalibration     `json:"chosen"`
	Bins      []policy.CalibrationBin `json:"bins"` // reliability diagram
	Pairs     []PairCalibration       `json:"pairs"`
}

// CalibrationMeans are means over the reported rows.
type CalibrationMeans struct {
	Estimate float64   `json:"estimate"`
	Loss     float64   `json:"loss"`
	Error    float64   `json:"error"`          // expected calibration error
	Diff     *Interval `json:"diff,omitempty"` // loss minus estimate, paired by row
}

// ChosenCalibration is about the pairs that the policy chose at one lambda.
type ChosenCalibration struct {
	Lambda float64 `json:"lambda"`
	CalibrationMeans
}

// PairCalibration is about one pair, wherever it was chosen.
type PairCalibration struct {
	Pair string `json:"pair"`
	CalibrationMeans
}

// differing are the policies whose estimates are not those of an earlier one, such as of the same training for another
// lambda.
func differing(policies []Calibration) []Calibration {
	var out []Calibration
	for _, c := range policies {
		same := func(o Calibration) bool {
			return reflect.DeepEqual(c.Bins, o.Bins) && reflect.DeepEqual(c.Pairs, o.Pairs)
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out
}

// hasReliability reports whether a reliability diagram can be drawn.
func hasReliability(policies []Calibration) bool {
	return slices.ContainsFunc(policies, func(c Calibration) bool { return len(c.Bins) > 0 })
}
