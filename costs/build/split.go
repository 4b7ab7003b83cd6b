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

type stratifiedSettings struct {
	Validation float64 `json:"validation"` // share of every label
	Test       float64 `json:"test"`
	Seed       uint64  `json:"seed"`
	Group      string  `json:"group,omitempty"` // "text": instances of one text stay together; "": none do
}

// splitStratified draws the shares of every label; see costs.DrawSplits.
func splitStratified(ctx context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) {
	cfg := stratifiedSettings{Validation: 0.25}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if !(cfg.Validation > 0 && cfg.Test >= 0 && cfg.Validation+cfg.Test < 1) {
		return nil, fmt.Errorf("validation is %v and test is %v; shares that leave some to train on are needed", cfg.Validation, cfg.Test)
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
