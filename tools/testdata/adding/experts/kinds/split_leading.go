package kinds

import (
	"context"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// splitLeading trains on the first rows and validates on the others.
func splitLeading(_ context.Context, s *part.Setup, settings map[string]any) ([]costs.Split, error) {
	var cfg struct {
		Train int `json:"train"`
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	splits := make([]costs.Split, len(s.Source.Entries()))
	for n := range splits {
		if n >= cfg.Train {
			splits[n] = costs.Val
		}
	}
	return splits, nil
}
