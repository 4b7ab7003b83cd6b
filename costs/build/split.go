package build

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
)

// splitByColumn takes the split that the source names for every instance.
func splitByColumn(_ context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) {
	if err := s.Settings(settings, &struct{}{}); err != nil {
		return nil, err
	}
	entries := s.Source.Entries()
	splits := make([]costs.Split, len(entries))
	for n, e := range entries {
		if e.Split == "" {
			return nil, errors.New("the instances name no split column")
		}
		split, err := costs.ParseSplit(e.Split)
		if err != nil {
			return nil, fmt.Errorf("instance %q: %w", e.ID, err)
		}
		splits[n] = split
	}
	return splits, nil
}

// shares are those of the instances, or of every label, that do not train.
type shares struct {
	Validation float64 `json:"validation"`
	Test       float64 `json:"test"`
	Seed       uint64  `json:"seed"`
}

func (s shares) check() error {
	if !(s.Validation > 0 && s.Test >= 0 && s.Validation+s.Test < 1) {
		return fmt.Errorf("validation is %v and test is %v; shares that leave some to train on are needed", s.Validation, s.Test)
	}
	return nil
}

// splitRandom draws the shares of all instances, whatever their labels. With one
// instance per label a draw by label would leave nothing to chance.
func splitRandom(_ context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) {
	cfg := shares{Validation: 0.25}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return costs.DrawSplits(len(s.Source.Entries()), nil, cfg.Validation, cfg.Test, cfg.Seed), nil
}

type stratifiedSettings struct {
	shares
	Group string `json:"group,omitempty"` // "text": instances of one text stay together; "": none do
}

// splitStratified draws the shares of every label; see costs.DrawSplits.
func splitStratified(ctx context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) {
	cfg := stratifiedSettings{shares: shares{Validation: 0.25}}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	entries := s.Source.Entries()
	labels := make([]string, len(entries))
	for n, e := range entries {
		labels[n] = e.Label
	}
	switch cfg.Group {
	case "":
	case "text":
		texts, err := s.texts(ctx)
		if err != nil {
			return nil, err
		}
		return drawGroups(labels, texts, cfg.Validation, cfg.Test, cfg.Seed), nil
	default:
		return nil, fmt.Errorf("group is %q; only text is known", cfg.Group)
	}
	return costs.DrawSplits(len(entries), labels, cfg.Validation, cfg.Test, cfg.Seed), nil
}
