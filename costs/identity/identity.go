// Package identity identifies features by how they are computed. A policy may only see features computed in the same
// way as its training features. Tensors and policies store a name and a digest for this.
//
// It is separate from the builder of tensors, so that a program that only decides does not link the builder.
package identity

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/digest"
)

// Block is a group of features of an instance that are computed together.
type Block struct {
	Name   string   // such as "pooled 4x4"
	Dim    int      // numbers per instance
	Models []string // digests of the models that compute it, in a fixed order
}

// Digest identifies how features are computed, independently of the instances. It covers the name, the width and the
// digests of the models of each block, in order. It is stored under costs.FeatureDigest.
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

// blocksBetween separates the names of blocks in the name of the features.
const blocksBetween = " + "

// Join returns the name of features that consist of blocks with these names.
func Join(names []string) string { return strings.Join(names, blocksBetween) }

// oneBlock reports whether the features with this name are a single block.
func oneBlock(name string) bool { return !strings.Contains(name, blocksBetween) }

// EncoderName is the name of features that are an encoder's vectors: the encoder's input, featurize.InputText or
// featurize.InputImage, and its name.
func EncoderName(input, encoder string) string { return input + " " + encoder }

// CheckEncoder is an error unless an encoder makes the features that the actions of a policy describe. It compares
// input, dimension and digest. It ignores the name, since a model may have another name elsewhere. Actions that do not
// describe features match any encoder.
func CheckEncoder(a *costs.Actions, e featurize.EncoderInfo) error {
	if a.Features.Name == "" {
		return nil
	}
	input, _, _ := strings.Cut(a.Features.Name, " ")
	switch {
	case !oneBlock(a.Features.Name) || !readByEncoders(input):
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

// readByEncoders reports whether there are encoders of an input.
func readByEncoders(input string) bool {
	for _, known := range featurize.TowerInputs() {
		if input == known {
			return true
		}
	}
	return false
}
