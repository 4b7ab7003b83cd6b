package build

import "context"

// none shows nothing beyond the instance.
type none struct{}

func newNone(_ context.Context, s *Setup, settings map[string]any) (Advice, error) {
	return none{}, s.Settings(settings, &struct{}{})
}

// Show returns empty showings.
func (none) Show(_ context.Context, batch []Instance) ([]Shown, error) {
	return make([]Shown, len(batch)), nil
}
