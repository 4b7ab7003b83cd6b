package cascadetest

import (
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
)

// Guarded is a cascade file with a guarantee at the lambda of the file: it accepts answers with an expected loss of at most threshold. What is
// not accepted is for nobody, at a fee of 0.3.
func Guarded(m *onnx.Model, threshold float32) (*onnx.Model, error) {
	info, err := cascade.Parse(m)
	if err != nil {
		return nil, err
	}
	limit, fee := float64(threshold), 0.3
	return cascade.WithGuarantee(m, policy.Guarantee{
		Risk: 0.2, Confidence: 0.95, Method: "ltt", Bound: 1, Threshold: &limit, Split: "val", Rows: 1000,
		At: []policy.GuaranteedPrice{{Lambda: info.Lambda, Accepted: 0.5, Samples: 500}}, Instead: policy.Instead{Name: policy.Abstain, Fee: &fee},
	})
}
