package advice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/experts/builder/part"
)

// columns reveals some columns of a table and hides the others.
type columns struct{ revealed []bool }

type columnsSettings struct {
	Reveal  []string `json:"reveal"`
	Extends string   `json:"extends"` // an earlier level whose columns are revealed too
}

func newColumns(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var cfg columnsSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Reveal) == 0 {
		return nil, errors.New("reveal: no columns are listed")
	}
	at, err := s.Source.Columns().Find(cfg.Reveal...)
	if err != nil {
		return nil, err
	}
	a := &columns{revealed: make([]bool, len(s.Source.Columns().Names))}
	if cfg.Extends != "" {
		base, ok := s.LevelNamed(cfg.Extends).(*columns)
		if !ok {
			return nil, fmt.Errorf("extends: %q is not an earlier advice that reveals columns", cfg.Extends)
		}
		a.revealed = slices.Clone(base.revealed)
	}
	for _, i := range at {
		a.revealed[i] = true
	}
	return a, nil
}

// Show returns the same columns for every instance.
func (a *columns) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return part.ShowAll(batch, part.AdvicePayload{Revealed: a.revealed}), nil
}
