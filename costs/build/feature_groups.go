package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pipe/featurize"
)

// groupFeatures are the columns of some groups of an encoded table, in the
// dense layout. A policy should see those only that it need not pay for.
type groupFeatures struct {
	encoder *featurize.TabularEncoder
	name    string
	groups  []int // of the encoder
	ends    []int // of the encoder's groups in the layout
	dim     int
	scratch sync.Pool
}

type groupFeaturesSettings struct {
	Groups []string `json:"groups"`
}

func newGroupFeatures(_ context.Context, s *Setup, settings map[string]any) (Feature, error) {
	var cfg groupFeaturesSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	e, err := s.encoder()
	if err != nil {
		return nil, err
	}
	f, err := selectGroups(e, cfg.Groups)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	s.inputs["model encoder of "+s.part] = e.Digest()
	return f, nil
}

// selectGroups finds the groups in the layout.
func selectGroups(e *featurize.TabularEncoder, names []string) (*groupFeatures, error) {
	if len(names) == 0 {
		return nil, errors.New("none are listed")
	}
	f := &groupFeatures{encoder: e, name: groupsName + strings.Join(names, ", "), ends: e.GroupEnds(featurize.LayoutDense)}
	for _, name := range names {
		g, err := findGroup(e, name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(f.groups, g) {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		f.groups = append(f.groups, g)
		from, to := f.span(g)
		f.dim += to - from
	}
	f.scratch.New = func() any {
		row := make([]float32, e.Width(featurize.LayoutDense))
		return &row
	}
	return f, nil
}

// Name lists the groups.
func (f *groupFeatures) Name() string { return f.name }

// Dim is the width of the groups in the dense layout.
func (f *groupFeatures) Dim() int { return f.dim }

// Encode writes the columns of the groups, group after group.
func (f *groupFeatures) Encode(_ context.Context, dst []float32, b *Batch) error {
	for n := range b.Instances {
		f.encode(dst[n*f.dim:(n+1)*f.dim], b.Instances[n].Values)
	}
	return nil
}

// encode writes the features of one row of values.
func (f *groupFeatures) encode(dst, values []float32) {
	whole := f.scratch.Get().(*[]float32)
	defer f.scratch.Put(whole)
	f.encoder.Encode(*whole, values, featurize.LayoutDense)
	for _, g := range f.groups {
		from, to := f.span(g)
		dst = dst[copy(dst, (*whole)[from:to]):]
	}
}

// span is where a group stands in the layout.
func (f *groupFeatures) span(g int) (from, to int) {
	if g > 0 {
		from = f.ends[g-1]
	}
	return from, f.ends[g]
}
