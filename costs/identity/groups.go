package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pipe/costs"
	"pipe/featurize/tabular"
)

// Groups are features made of some column groups of an encoded table, in the dense layout. They are safe for concurrent
// use.
type Groups struct {
	encoder *tabular.Encoder
	names   []string
	groups  []int // of the encoder
	ends    []int // of the encoder's groups in the layout
	dim     int
	scratch sync.Pool
}

// groupsPrefix starts the name of such features; the groups follow.
const groupsPrefix = "groups "

// NewGroups finds groups by name. No name, a duplicate name, and a group that the encoder lacks are errors.
func NewGroups(e *tabular.Encoder, names []string) (*Groups, error) {
	if len(names) == 0 {
		return nil, errors.New("not set")
	}
	f := &Groups{encoder: e, names: names, ends: e.GroupEnds(tabular.LayoutDense)}
	for _, name := range names {
		g, err := e.Group(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(f.groups, g) {
			return nil, fmt.Errorf("duplicate group %q", name)
		}
		f.groups = append(f.groups, g)
		from, to := f.span(g)
		f.dim += to - from
	}
	f.scratch.New = func() any {
		row := make([]float32, e.Width(tabular.LayoutDense))
		return &row
	}
	return f, nil
}

// GroupsOf returns the features that the actions of a policy name, computed by an encoder. Features of another kind or
// of another encoder, and a group that the encoder lacks, are errors.
func GroupsOf(a *costs.Actions, e *tabular.Encoder) (*Groups, error) {
	list, ok := strings.CutPrefix(a.Features.Name, groupsPrefix)
	if !ok || !oneBlock(list) {
		return nil, fmt.Errorf("the policy sees %q, which is not made of column groups alone", a.Features.Name)
	}
	f, err := NewGroups(e, strings.Split(list, ", "))
	if err != nil {
		return nil, err
	}
	made := Digest(Block{Name: f.Name(), Dim: f.dim, Models: []string{e.Digest()}})
	if want := a.Digests[costs.FeatureDigest]; want != "" && want != made {
		return nil, fmt.Errorf("the features of the policy were made by another encoder than %s", e.Digest())
	}
	return f, nil
}

// Name lists the groups.
func (f *Groups) Name() string { return groupsPrefix + strings.Join(f.names, ", ") }

// Dim is the number of features: the width of the groups in the dense layout.
func (f *Groups) Dim() int { return f.dim }

// Reads reports whether the features depend on a column of the table.
func (f *Groups) Reads(c tabular.Column) bool { return slices.Contains(f.groups, c.Group) }

// Encode writes the features of one row, Dim numbers, into dst. values has one number per column of the encoder, NaN
// for a missing one.
func (f *Groups) Encode(dst, values []float32) {
	whole := f.scratch.Get().(*[]float32)
	defer f.scratch.Put(whole)
	f.encoder.Encode(*whole, values, tabular.LayoutDense)
	for _, g := range f.groups {
		from, to := f.span(g)
		dst = dst[copy(dst, (*whole)[from:to]):]
	}
}

// span is the position of a group in the layout.
func (f *Groups) span(g int) (from, to int) {
	if g > 0 {
		from = f.ends[g-1]
	}
	return from, f.ends[g]
}
