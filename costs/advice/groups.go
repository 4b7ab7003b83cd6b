package advice

import (
	"context"
	"errors"

	"pipe/costs/builder/part"
)

// groups discloses the column groups of an encoded table, in their order up to
// one of them.
type groups struct{ revealed []bool }

type groupsSettings struct {
	Through string `json:"through"` // the last group that is disclosed
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
		return nil, errors.New("through: no group is named")
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
func (a *groups) Show(_ context.Context, batch []part.Instance) ([]part.Shown, error) {
	return part.ShowAll(batch, part.Shown{Groups: a.revealed}), nil
}
