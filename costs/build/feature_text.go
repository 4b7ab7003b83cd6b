package build

import (
	"context"
	"fmt"
	"strings"

	"pipe/costs"
)

// textFeatures are the vectors of the instances' texts.
type textFeatures struct{ embedder *embedder }

// textName is how the features kind "text" calls itself before the name of the encoder.
const textName = "text "

func newTextFeatures(ctx context.Context, s *Setup, settings map[string]any) (Feature, error) {
	var cfg encoderSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := s.checkTexts(ctx); err != nil {
		return nil, err
	}
	e, err := s.embedder(cfg.Encoder)
	if err != nil {
		return nil, err
	}
	return &textFeatures{e}, nil
}

// checkTexts refuses instances without a text.
func (s *Setup) checkTexts(ctx context.Context) error {
	first, err := s.Source.Load(ctx, []int{0})
	if err != nil {
		return err
	}
	return first[0].needText()
}

// Name tells the encoder.
func (f *textFeatures) Name() string { return textName + f.embedder.Name() }

// Dim is that of the encoder.
func (f *textFeatures) Dim() int { return f.embedder.Dim() }

// Encode copies the vector of every text.
func (f *textFeatures) Encode(ctx context.Context, dst []float32, b *Batch) error {
	texts := make([]string, len(b.Instances))
	for n := range b.Instances {
		texts[n] = b.Instances[n].Text
	}
	vectors, err := f.embedder.Vectors(ctx, texts)
	if err != nil {
		return err
	}
	for n, v := range vectors {
		copy(dst[n*f.Dim():], v)
	}
	return nil
}

// CheckTextFeatures reports whether an encoder, of which the length of a vector and the digest are told, makes the
// features that the actions of a policy name. Actions that say nothing of features fit any encoder.
func CheckTextFeatures(a *costs.Actions, dim int, encoder string) error {
	if a.Features.Name == "" {
		return nil
	}
	if !strings.HasPrefix(a.Features.Name, textName) || strings.Contains(a.Features.Name, " + ") {
		return fmt.Errorf("the policy sees %q, which is not the vector of a text alone", a.Features.Name)
	}
	if a.Features.Dim != dim {
		return fmt.Errorf("the policy sees vectors of %d numbers, the encoder makes %d", a.Features.Dim, dim)
	}
	want := digest([]byte(identityText(a.Features.Name, dim, encoder)))
	if has := a.Digests[costs.FeatureDigest]; has != "" && has != want {
		return fmt.Errorf("the features of the policy were made by another encoder than %s", encoder)
	}
	return nil
}
