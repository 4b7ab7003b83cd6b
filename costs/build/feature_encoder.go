package build

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/digest"
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
		return fmt.Errorf("the policy sees %q, which is not the vector of one %s", a.Features.Name, e.Input)
	case input != e.Input:
		return fmt.Errorf("the policy sees %q, made of %ss; the encoder %s reads %ss", a.Features.Name, input, e.Name, e.Input)
	case a.Features.Dim != e.Dim:
		return fmt.Errorf("the policy sees vectors of %d numbers, the encoder makes %d", a.Features.Dim, e.Dim)
	}
	if has := a.Digests[costs.FeatureDigest]; has != "" && has != EncoderFeatureDigest(a.Features.Name, e) {
		return fmt.Errorf("the features of the policy were made by another encoder than %s (%s), or with other settings", e.Name, e.Digest)
	}
	return nil
}

// EncoderFeatureDigest is the digest of features of a name that are an encoder's vectors alone.
func EncoderFeatureDigest(name string, e featurize.EncoderInfo) string {
	return digest.Of([]byte(identityText(name, e.Dim, e.Digest)))
}

// encoderInputs are what encoders read.
var encoderInputs = map[string]bool{featurize.InputText: true, featurize.InputImage: true}
