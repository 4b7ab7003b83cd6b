package pipeline

import (
	"fmt"

	"pipe/featurize"
	"pipe/onnx"
	"pipe/pipeline/stage"
)

// mergePolicy puts a policy behind an encoder that made its features. The result is the policy, metadata included, with
// other inputs.
func mergePolicy(encoder *onnx.Model, about featurize.EncoderInfo, path string) (*onnx.Model, error) {
	f, err := readPolicy(path)
	if err != nil {
		return nil, err
	}
	if f.encoder != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: has an encoder in front already", path)}
	}
	if about.Dim == 0 {
		about.Dim = f.info.Dim // an export need not state its width
	}
	if err := fitsEncoder(f.info, about); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: %w", path, err)}
	}
	return mergeEncoder(encoder, f.policy)
}
