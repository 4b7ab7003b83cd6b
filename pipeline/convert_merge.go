package pipeline

import (
	"fmt"

	"pipe/costs"
	"pipe/featurize"
	"pipe/models"
	"pipe/onnx"
)

// mergePolicy puts a policy behind an encoder that made its features. The result is the policy, metadata included, with
// other inputs.
func mergePolicy(encoder *onnx.Model, about featurize.EncoderInfo, path string) (*onnx.Model, error) {
	info, err := readPolicy(path)
	if err != nil {
		return nil, err
	}
	policy, err := onnx.ReadFile(path)
	if err != nil {
		return nil, &costs.DataError{Err: err}
	}
	if in := policy.Inputs(); len(in) != 1 || in[0].Name != models.FeaturesInput {
		return nil, &OptionError{fmt.Errorf("policy %q: has an encoder in front already", path)}
	}
	if about.Dim == 0 {
		about.Dim = info.Dim // an export need not tell its width
	}
	if err := fitsEncoder(info, about); err != nil {
		return nil, &OptionError{fmt.Errorf("policy %q: %w", path, err)}
	}
	o := onnx.MergeOptions{Name: "encoder and policy", FirstPrefix: "encoder/", SecondPrefix: "policy/"}
	return onnx.Merge(encoder, policy, map[string]string{encoder.Outputs()[0].Name: models.FeaturesInput}, o)
}
