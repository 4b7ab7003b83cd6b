package part

import (
	"context"
	"maps"

	"pipe/costs"
)

// Constructors of parts. settings are the keys of the part except kind; Setup.Settings decodes them.
type (
	NewSource  = func(ctx context.Context, s *Setup, settings map[string]any) (Source, error)
	NewSplit   = func(ctx context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) // one per entry of s.Source
	NewLoss    = func(ctx context.Context, s *Setup, settings map[string]any) (TaskLoss, error)
	NewAdvice  = func(ctx context.Context, s *Setup, settings map[string]any) (Advice, error)
	NewExpert  = func(ctx context.Context, s *Setup, settings map[string]any) (Expert, error)
	NewFeature = func(ctx context.Context, s *Setup, settings map[string]any) (Feature, error)
)

// Kinds are kinds of parts by the names that a configuration uses.
type Kinds struct {
	Sources  map[string]NewSource
	Splits   map[string]NewSplit
	Losses   map[string]NewLoss
	Advice   map[string]NewAdvice
	Experts  map[string]NewExpert
	Features map[string]NewFeature
}

// With returns these kinds and others; others replace kinds of the same names. others may be nil.
func (k *Kinds) With(others *Kinds) *Kinds {
	if others == nil {
		others = &Kinds{}
	}
	return &Kinds{
		Sources:  joined(k.Sources, others.Sources),
		Splits:   joined(k.Splits, others.Splits),
		Losses:   joined(k.Losses, others.Losses),
		Advice:   joined(k.Advice, others.Advice),
		Experts:  joined(k.Experts, others.Experts),
		Features: joined(k.Features, others.Features),
	}
}

func joined[T any](a, b map[string]T) map[string]T {
	all := make(map[string]T, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
