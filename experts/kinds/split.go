package kinds

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// splitByColumn takes the split that the source names for every instance.
func splitByColumn(_ context.Context, s *part.Setup, settings map[string]any) ([]costs.Split, error) {
	if err := s.Settings(settings, &struct{}{}); err != nil {
		return nil, err
	}
	entries := s.Source.Entries()
	splits := make([]costs.Split, len(entries))
	for n, e := range entries {
		if e.Split == "" {
			return nil, errors.New("the instances have no split column")
		}
		split, err := costs.ParseSplit(e.Split)
		if err != nil {
			return nil, fmt.Errorf("instance %q: %w", e.ID, err)
		}
		splits[n] = split
	}
	return splits, nil
}

// drawSettings are the shares of validation and test instances, and how they
// are drawn.
type drawSettings struct {
	Validation float64 `json:"validation"`
	Test       float64 `json:"test"`
	Seed       uint64  `json:"seed"`
	Group      string  `json:"group,omitempty"` // "text": instances of one text stay together; "": those of one group, if the source has groups
}

// drawSplits draws the splits; kind is one of costs.SplitDraw.
func drawSplits(kind string) func(context.Context, *part.Setup, map[string]any) ([]costs.Split, error) {
	return func(ctx context.Context, s *part.Setup, settings map[string]any) ([]costs.Split, error) {
		cfg := drawSettings{Validation: 0.25}
		if err := s.Settings(settings, &cfg); err != nil {
			return nil, err
		}
		draw := costs.SplitDraw{Kind: kind, Validation: cfg.Validation, Test: cfg.Test, Seed: cfg.Seed}
		if err := draw.Validate(); err != nil {
			return nil, err
		}
		groups, err := splitGroups(ctx, s, cfg.Group)
		if err != nil {
			return nil, err
		}
		entries := s.Source.Entries()
		ids, labels := make([]string, len(entries)), make([]string, len(entries))
		for n, e := range entries {
			ids[n], labels[n] = e.ID, e.Label
		}
		return draw.Draw(ids, labels, groups)
	}
}

// splitGroups returns the group of every instance for the split; nil if
// instances are split one by one.
func splitGroups(ctx context.Context, s *part.Setup, by string) ([]string, error) {
	switch by {
	case "":
		return groupsOf(s.Source.Entries()), nil
	case "text":
		if groupsOf(s.Source.Entries()) != nil {
			return nil, errors.New("group is text, but the instances already have groups, which are kept together")
		}
		return s.Texts(ctx)
	}
	return nil, fmt.Errorf("group is %q; it must be text; to use a column of groups, set group of the instances", by)
}

// groupsOf returns the group of every instance, nil if the source has none.
func groupsOf(entries []part.Entry) []string {
	if entries[0].Group == "" {
		return nil
	}
	groups := make([]string, len(entries))
	for n, e := range entries {
		groups[n] = e.Group
	}
	return groups
}
