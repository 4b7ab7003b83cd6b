package advice

import (
	"context"

	"pipe/experts/builder/part"
)

// none shows nothing beyond the instance.
type none struct{}

func newNone(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	return none{}, s.Settings(settings, &struct{}{})
}

// Show returns empty showings.
func (none) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return make([]part.AdvicePayload, len(batch)), nil
}
