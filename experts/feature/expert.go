package feature

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
)

// expertProbabilities are the probabilities of an expert without advice, for a
// policy that consults the expert anyway.
type expertProbabilities struct {
	name   string
	expert int
	dim    int
}

type expertSettings struct {
	Expert string `json:"expert"`
}

func newExpertProbabilities(_ context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	var cfg expertSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	for j, e := range s.Experts {
		if e.Name != cfg.Expert {
			continue
		}
		c, ok := e.Expert.(part.Classifier)
		if !ok || !e.Takes[0] {
			return nil, fmt.Errorf("expert %q has no probabilities without advice", cfg.Expert)
		}
		return &expertProbabilities{cfg.Expert, j, len(c.Labels())}, nil
	}
	return nil, fmt.Errorf("there is no expert %q", cfg.Expert)
}

func (f *expertProbabilities) Name() string { return "expert " + f.name }

// From names the expert.
func (f *expertProbabilities) From() string { return part.ExpertName(f.name) }

// Dim returns the number of labels of the expert.
func (f *expertProbabilities) Dim() int { return f.dim }

// Encode writes the probabilities under advice 0.
func (f *expertProbabilities) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n, p := range b.Answers[f.expert][0] {
		if copy(dst[n*f.dim:], p.Probabilities) != f.dim {
			return fmt.Errorf("instance %q: expert %q gave %d probabilities, not %d", b.Instances[n].ID, f.name, len(p.Probabilities), f.dim)
		}
	}
	return nil
}
