package feature

import (
	"context"
	"fmt"

	"pipe/costs/identity"
	"pipe/experts/builder/part"
)

// groupFeatures are the columns of some groups of an encoded table. A policy should see only groups that are free.
type groupFeatures struct{ *identity.Groups }

type groupFeaturesSettings struct {
	Groups []string `json:"groups"`
}

func newGroupFeatures(_ context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	var cfg groupFeaturesSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	e, err := s.Encoder()
	if err != nil {
		return nil, err
	}
	f, err := identity.NewGroups(e, cfg.Groups)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	s.Input("model encoder", e.Digest())
	return groupFeatures{f}, nil
}

// Encode writes the columns of the groups, group after group.
func (f groupFeatures) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n := range b.Instances {
		f.Groups.Encode(dst[n*f.Dim():(n+1)*f.Dim()], b.Instances[n].Values)
	}
	return nil
}
