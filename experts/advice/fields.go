package advice

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/experts/fields"
)

// requestFields shows nothing of the instance: it sets fields of the requests to chat models, such as how hard they think.
type requestFields struct{ all map[string]fields.Fields }

func newFields(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var set fields.Set
	if err := s.Settings(settings, &set); err != nil {
		return nil, err
	}
	return &requestFields{set.All()}, set.Validate()
}

// Fields returns the fields of a protocol, nil if there are none.
func (a *requestFields) Fields(protocol string) map[string]any { return a.all[protocol] }

// Show returns the same fields for every instance.
func (a *requestFields) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return part.ShowAll(batch, part.AdvicePayload{Fields: a.all}), nil
}
