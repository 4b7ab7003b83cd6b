package grade

import (
	"context"
	"errors"

	"pipe/internal/config"
)

// prefix compares the first letters of two texts.
type prefix struct {
	Letters int `json:"letters"`
}

func newPrefix(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	p := &prefix{Letters: 1}
	if err := config.DecodeSettings(settings, p); err != nil {
		return nil, err
	}
	return texts{p}, nil
}

func (p *prefix) key(answer string) (string, bool) {
	return answer[:min(p.Letters, len(answer))], answer != ""
}

func (p *prefix) check(reference string) error {
	if len(reference) < p.Letters {
		return errors.New("is too short")
	}
	return nil
}

func (p *prefix) score(answer, reference string) float64 {
	if key, ok := p.key(answer); ok && key == reference[:p.Letters] {
		return 1
	}
	return 0
}
