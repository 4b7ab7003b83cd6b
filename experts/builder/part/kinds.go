package part

import (
	"context"
	"maps"

	"pipe/costs"
)

// Constructors of parts. settings are the keys of the part except kind; Setup.Settings decodes them. A constructor
// returns a part or an error, not nil and nil.
//
// A resumed build knows a part by its kind, its settings and its files, not by its code. So a constructor of another
// module calls s.Input with a version of its code, as in s.Input("version", "2"), and raises it whenever the part would
// give other answers. Else a build that is resumed keeps the answers of the old code.
type (
	NewSource  = func(ctx context.Context, s *Setup, settings map[string]any) (Source, error)
	NewSplit   = func(ctx context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) // one per entry of s.Source
	NewLoss    = func(ctx context.Context, s *Setup, settings map[string]any) (TaskLoss, error)
	NewAdvice  = func(ctx context.Context, s *Setup, settings map[string]any) (Advice, error)
	NewExpert  = func(ctx context.Context, s *Setup, settings map[string]any) (Expert, error) // calls s.Input with a version of its code
	NewFeature = func(ctx context.Context, s *Setup, settings map[string]any) (Feature, error)
)

// Kinds are kinds of parts by the names that a configuration uses. One that takes the place of a built-in kind has that
// kind's name among the inputs of the build: as any kind of another module, it has to call Setup.Input with a version of
// its code, or a build that was begun with the built-in kind is resumed with it.
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
