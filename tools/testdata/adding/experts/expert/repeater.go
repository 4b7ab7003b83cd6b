package expert

import (
	"context"
	"strings"

	"pipe/experts/builder/part"
)

// repeater answers with the label that is named by what it is shown, else with the one of its settings.
type repeater struct {
	repeaterSettings
	labels []string
}

type repeaterSettings struct {
	Else string `json:"else"`
}

func newRepeater(_ context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	e := &repeater{labels: s.Labels}
	return e, s.Settings(settings, &e.repeaterSettings)
}

func (e *repeater) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	answers := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue // the expert is not asked under this advice
		}
		for n := range batch {
			answers[k] = append(answers[k], part.Prediction{Label: e.answer(level[n].Passages)})
		}
	}
	return answers, nil
}

func (e *repeater) answer(passages []part.Passage) string {
	for _, p := range passages {
		for _, label := range e.labels {
			if strings.Contains(p.Text, label) {
				return label
			}
		}
	}
	return e.Else
}

func (e *repeater) Close() error { return nil }
