package grade

import (
	"context"

	"pipe/internal/config"
)

// exact compares whole texts after normalisation.
type exact struct{ normaliser }

type exactSettings struct {
	Ignore []string `json:"ignore"` // case, punctuation, articles, space
}

func newExact(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	cfg := exactSettings{Ignore: []string{ignoreCase, ignoreSpace}}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	n, err := newNormaliser(cfg.Ignore)
	return texts{exact{n}}, err
}

func (g exact) key(answer string) (string, bool) {
	key := g.text(answer)
	return key, key != ""
}

func (g exact) score(answer, reference string) float64 {
	if g.text(answer) == g.text(reference) {
		return 1
	}
	return 0
}
