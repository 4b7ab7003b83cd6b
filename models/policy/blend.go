package policy

// Keys of the metadata of policies by estimates that were blended from several regressors.
const (
	BlendKey       = "blend"       // []Member in JSON: the regressors
	BlendsKey      = "blends"      // []Member in JSON: the rules by which they can be blended; the weight of the chosen one is 1
	CalibrationKey = "calibration" // Calibration without the bins, in JSON
)

// Member is a regressor that was a candidate for a blend, or a blend that was one for the policy. Losses are mean costs
// per row, in the unit of the task loss, on rows that it was not fitted on; for an any-price policy means over the prices
// of the guard.
type Member struct {
	Name   string  `json:"name"`
	Loss   float64 `json:"loss"`   // of decisions by this member alone
	Error  float64 `json:"error"`  // standard error of Loss
	Weight float64 `json:"weight"` // in the blend, 0 to 1
}
