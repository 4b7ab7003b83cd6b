package build

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/featurize"
)

// encodedName is how features that are an encoder's vectors call themselves: what goes in, text or image, and the
// encoder's name.
func encodedName(input, encoder string) string { return input + " " + encoder }

// CheckEncoderFeatures reports whether an encoder, of which input, name, dimension and digest count, makes the features
// that the actions of a policy name. Actions that say nothing of features fit any encoder.
func CheckEncoderFeatures(a *costs.Actions, e featurize.EncoderInfo) error {
	if a.Features.Name == "" {
		return nil
	}
	input, _, _ := strings.Cut(a.Features.Name, " ")
	switch {
	case strings.Contains(a.Features.Name, " + ") || !encoderInputs[input]:
		return fmt.Errorf("the policy sees %q, which is not the vector of a %s alone", a.Features.Name, e.Input)
	case input != e.Input:
		return fmt.Errorf("the policy sees %q, the vector of a %s; the encoder %s reads %ss", a.Features.Name, input, e.Name, e.Input)
	case a.Features.Dim != e.Dim:
		return fmt.Errorf("the policy sees vectors of %d numbers, the encoder makes %d", a.Features.Dim, e.Dim)
	}
	want := digest([]byte(identityText(a.Features.Name, e.Dim, e.Digest)))
	if has := a.Digests[costs.FeatureDigest]; has != "" && has != want {
		return fmt.Errorf("the features of the policy were made by another encoder than %s (%s)", e.Name, e.Digest)
	}
	return nil
}

// encoderInputs are what encoders read.
var encoderInputs = map[string]bool{"text": true, "image": true}
