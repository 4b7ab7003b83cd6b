package advice

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// groups reveals the column groups of an encoded table, in order, up to a given
// group.
type groups struct{ revealed []bool }

type groupsSettings struct {
	Through string `json:"through"` // the last group to reveal
}

func newGroups(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var cfg groupsSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	e, err := s.Encoder()
	if err != nil {
		return nil, err
	}
	if cfg.Through == "" {
		return nil, errors.New("through: not set")
	}
	last, err := e.Group(cfg.Through)
	if err != nil {
		return nil, err
	}
	a := &groups{revealed: make([]bool, len(e.Groups()))}
	for g := range last + 1 {
		a.revealed[g] = true
	}
	return a, nil
}

// Show returns the same groups for every instance.
func (a *groups) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return part.ShowAll(batch, part.AdvicePayload{Groups: a.revealed}), nil
}
