package policy

// Keys of the metadata of policies by estimates that were blended from several regressors.
const (
	BlendKey       = "blend"       // []Member in JSON
	CalibrationKey = "calibration" // Calibration without the bins, in JSON
)

// Member is a regressor that was a candidate for a blend. Losses are mean costs per row, in the unit of the task loss, on
// rows that it was not fitted on; for an any-price policy means over the prices of the guard.
type Member struct {
	Name   string  `json:"name"`
	Loss   float64 `json:"loss"`   // of decisions by this member alone
	Error  float64 `json:"error"`  // standard error of Loss
	Weight float64 `json:"weight"` // in the blend, 0 to 1
}

// Calibration compares estimated losses with those that came true on rows that did not train. It is of all pairs of the
// held-out rows, with a curve that was fitted on the other blocks of rows.
type Calibration struct {
	Error  float64           `json:"error"`  // expected calibration error: mean over Bins of |Estimate - Loss|, weighted by Count
	Raw    float64           `json:"raw"`    // the same without the curve
	Curve  bool              `json:"curve"`  // whether the curve is in the file: it lowers the squared error
	Points int               `json:"points"` // of the curve
	Bins   []CalibrationBin  `json:"bins"`   // reliability diagram: bins with the same number of estimates, ascending
	Pairs  []CalibrationPair `json:"pairs"`
}

// CalibrationBin are the means of some estimates and of the losses that belong to them.
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
