package feature

import (
	"context"

	"pipe/costs/identity"
	"pipe/experts/builder/part"
	"pipe/experts/embedding"
	"pipe/featurize"
)

// textFeatures are the vectors of the instances' texts.
type textFeatures struct{ embedder *embedding.Embedder }

func newTextFeatures(ctx context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	var cfg embedding.EncoderSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := s.CheckTexts(ctx); err != nil {
		return nil, err
	}
	e, err := embedding.Open(ctx, s, cfg.Encoder)
	if err != nil {
		return nil, err
	}
	return &textFeatures{e}, nil
}

// Name is the encoder's.
func (f *textFeatures) Name() string {
	return identity.EncoderName(featurize.InputText, f.embedder.Name())
}

// Dim is that of the encoder.
func (f *textFeatures) Dim() int { return f.embedder.Dim() }

// Encode copies the vector of every text.
func (f *textFeatures) Encode(ctx context.Context, dst []float32, b *part.Batch) error {
	texts := make([]string, len(b.Instances))
	for n := range b.Instances {
		texts[n] = b.Instances[n].Text
	}
	vectors, err := f.Vectors(ctx, texts)
	if err != nil {
		return err
	}
	for n, v := range vectors {
		copy(dst[n*f.Dim():], v)
	}
	return nil
}

// Vectors are those of the encoder.
func (f *textFeatures) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	return f.embedder.Vectors(ctx, texts)
}

var _ part.TextFeature = (*textFeatures)(nil)
