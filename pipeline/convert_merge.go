package pipeline

import (
	"fmt"

	"pipe/featurize"
	"pipe/onnx"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// mergePolicy puts a policy behind an encoder that made its features. The result is the policy, metadata included, with
// other inputs.
func mergePolicy(encoder *onnx.Model, about featurize.EncoderInfo, path string) (*onnx.Model, error) {
	f, err := decide.ReadPolicy(path)
	if err != nil {
		return nil, err
	}
	if f.Encoder != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: has an encoder in front already", path)}
	}
	if about.Dim == 0 {
		about.Dim = f.Info.Dim // an export need not state its width
	}
	if err := decide.FitsEncoder(f.Info, about); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: %w", path, err)}
	}
	return decide.MergeEncoder(encoder, f.Policy)
}
