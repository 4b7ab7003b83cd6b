// Package identity knows features by how they are computed: a policy may only see features that were made the way its
// training features were. What a tensor or a policy carries for this is a name and a digest.
//
// It stands apart from the builder of tensors, so that a program which only decides does not link it.
package identity

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/digest"
)

// Block is some of the features of an instance that are computed together.
type Block struct {
	Name   string   // such as "pooled 4x4"
	Dim    int      // numbers per instance
	Models []string // digests of the models that compute it, in a fixed order
}

// Digest identifies how features are computed, whatever the instances are: over each block's name and width and the
// digests of its models, block after block. It is what costs.FeatureDigest stands for.
func Digest(blocks ...Block) string {
	var text strings.Builder
	for _, b := range blocks {
		fmt.Fprintf(&text, "%s %d\n", b.Name, b.Dim)
		for _, m := range b.Models {
			text.WriteString(m + "\n")
		}
	}
	return digest.Of([]byte(text.String()))
}

// blocksBetween stands between the names of blocks in the name of the features.
const blocksBetween = " + "

// Join returns the name of features that are made of blocks with these names.
func Join(names []string) string { return strings.Join(names, blocksBetween) }

// oneBlock reports whether features of a name are a single block.
func oneBlock(name string) bool { return !strings.Contains(name, blocksBetween) }

// EncoderName is the name of features that are an encoder's vectors: the encoder's input, featurize.InputText or
// featurize.InputImage, and its name.
func EncoderName(input, encoder string) string { return input + " " + encoder }

// CheckEncoder reports whether an encoder makes the features that the actions of a policy name: its input, dimension
// and digest count. Its name does not, since a model may lie under another name elsewhere. Actions that say nothing of
// features fit any encoder.
func CheckEncoder(a *costs.Actions, e featurize.EncoderInfo) error {
	if a.Features.Name == "" {
		return nil
	}
	input, _, _ := strings.Cut(a.Features.Name, " ")
	switch {
	case !oneBlock(a.Features.Name) || !encoderInputs[input]:
		return fmt.Errorf("the policy sees %q, which is not the vector of one %s", a.Features.Name, e.Input)
	case input != e.Input:
		return fmt.Errorf("the policy sees %q, made of %ss; the encoder %s reads %ss", a.Features.Name, input, e.Name, e.Input)
	case a.Features.Dim != e.Dim:
		return fmt.Errorf("the policy sees vectors of %d numbers, the encoder makes %d", a.Features.Dim, e.Dim)
	}
	made := Digest(Block{Name: a.Features.Name, Dim: e.Dim, Models: []string{e.Digest}})
	if has := a.Digests[costs.FeatureDigest]; has != "" && has != made {
		return fmt.Errorf("the features of the policy were made by another encoder than %s (%s), or with other settings", e.Name, e.Digest)
	}
	return nil
}

// encoderInputs are what encoders read.
var encoderInputs = map[string]bool{featurize.InputText: true, featurize.InputImage: true}
