package advice

import (
	"context"

	"pipe/experts/builder/part"
)

// measured shows a passage that says whether the text is short or long.
type measured struct {
	Long int `json:"long"` // letters from which a text is long
}

func newMeasured(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	a := &measured{}
	return a, s.Settings(settings, a)
}

func (a *measured) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	shown := make([]part.AdvicePayload, len(batch))
	for n, in := range batch {
		text := "it is short"
		if len(in.Text) >= a.Long {
			text = "it is long"
		}
		shown[n].Passages = []part.Passage{{Page: "Measure", Text: text}}
	}
	return shown, nil
}
