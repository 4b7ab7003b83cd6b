package auto

import (
	"context"
	"slices"

	"pipe/models"
	"pipe/models/estimate"
	"pipe/models/regress"
)

// members are regressors of several families, and their estimates for the held-out rows.
type members struct {
	families  []regress.Family
	names     []string
	kinds     []kind
	estimates [][]float32 // by member, held-out rows x pairs
}

// crossFit fits every family on every fold. Networks are first tried on one fold with half the steps: those that would
// not enter the blend are not trained any further.
func crossFit(ctx context.Context, t *table, s Settings, o models.Options) (*members, error) {
	m := new(members)
	if t.usage != nil {
		if err := t.usage.crossFit(ctx, t); err != nil {
			return nil, err
		}
	}
	families, err := quickFamilies(t, s, o)
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		if err := m.add(ctx, t, f, o); err != nil {
			return nil, err
		}
	}
	t.estimated(m.plain())
	if len(s.Networks) == 0 {
		return m, nil
	}
	tried := networks(s, s.Networks, o)
	tried.Steps = max(1, s.Steps/2)
	kept, err := m.try(ctx, t, tried, s)
	if err != nil || len(kept) == 0 {
		return m, err
	}
	return m, m.addNetworks(ctx, t, networks(s, kept, o), o)
}

// addNetworks cross-fits networks, all folds at once.
func (m *members) addNetworks(ctx context.Context, t *table, f regress.Networks, o models.Options) error {
	total := 0
	for _, fold := range t.folds {
		total += len(f.Candidates) * f.ModelSteps(len(fold.Fit))
	}
	announce(o, "networks", total)
	folds, err := f.CrossFit(ctx, t.data, t.folds)
	if err != nil {
		return err
	}
	m.append(f, folds)
	return nil
}

// plain are the estimates of the held-out rows by equal weights, which depend on no losses of these rows.
func (m *members) plain() []float32 { return blended(m.estimates, equalWeights(m.kinds)) }

// quickFamilies are all families but the networks. They save no checkpoints: a training that was interrupted fits them
// again.
func quickFamilies(t *table, s Settings, o models.Options) ([]regress.Family, error) {
	out := []regress.Family{regress.Constant{}}
	if len(s.Ridge) > 0 {
		out = append(out, regress.Ridge{Penalties: s.Ridge})
	}
	// float32 cannot tell how far very far rows are from each other.
	if len(s.Neighbours) > 0 && regress.TooFar(t.data.X, t.data.Dim) < 0 {
		most := min(s.NeighbourRows, max(1, s.FileMiB<<20/t.neighbourBytes()))
		out = append(out, regress.Neighbours{Runtime: o.Runtime, K: s.Neighbours, Most: most, Seed: s.Seed})
	}
	out = append(out, perBlock(out[1:], t.features)...)
	if len(s.Trees) > 0 {
		trees, err := openTrees(s)
		if err != nil {
			return nil, err
		}
		out = append(out, trees)
	}
	return out, nil
}

// neighbourBytes is the size of a row of neighbours in a policy file: once for all features, and once more for each block.
func (t *table) neighbourBytes() int {
	row := 4 * (t.data.Dim + t.data.Pairs + 1)
	if n := len(t.features); n > 0 {
		row += 4 * (t.data.Dim + n*(t.data.Pairs+1))
	}
	return row
}

// networks is a family of the recipe's settings.
func networks(s Settings, a []regress.Architecture, o models.Options) regress.Networks {
	return regress.Networks{Candidates: a, Steps: s.Steps, Seeds: s.Seeds, Seed: s.Seed, Workers: s.Workers, Options: o}
}

// add cross-fits a family, fold by fold.
func (m *members) add(ctx context.Context, t *table, f regress.Family, o models.Options) error {
	announce(o, f.Members()[0]+more(len(f.Members())), len(t.folds))
	var folds [][][]float32
	for _, fold := range t.folds {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := f.CrossFit(ctx, t.data, []regress.Fold{fold})
		if err != nil {
			return err
		}
		folds = append(folds, e...)
		advance(o, 1)
	}
	m.append(f, folds)
	return nil
}

// append adds a family with its estimates, by fold and member.
func (m *members) append(f regress.Family, folds [][][]float32) {
	m.families = append(m.families, f)
	for i, name := range f.Members() {
		var all []float32
		for _, e := range folds {
			all = append(all, e[i]...)
		}
		m.names, m.kinds, m.estimates = append(m.names, name), append(m.kinds, kindOf(f)), append(m.estimates, all)
	}
}

func kindOf(f regress.Family) kind {
	switch f := f.(type) {
	case regress.Block:
		return kindOf(f.Family)
	case regress.Constant:
		return constantMember
	case regress.Trees:
		return treeMember
	case regress.Networks:
		return networkMember
	}
	return simpleMember
}

// The networks that are worth training on all folds: those with at least triedWeight in a blend with the other members
// on one fold, and no more than mostTried of them.
const (
	triedWeight = 0.05
	mostTried   = 2
)

// try returns the architectures that enter a blend on the first fold.
func (m *members) try(ctx context.Context, t *table, f regress.Networks, s Settings) ([]regress.Architecture, error) {
	first := t.folds[0]
	announce(f.Options, "try networks", len(f.Candidates)*f.ModelSteps(len(first.Fit)))
	f.Options = stage(f.Options, "try")
	e, err := f.CrossFit(ctx, t.data, t.folds[:1])
	if err != nil {
		return nil, err
	}
	with := append(slices.Clone(m.estimates), e[0]...)
	weights := newMoments(t, with, span{0, len(first.Held)}).weights(slices.Repeat([]bool{true}, len(with)))[len(m.estimates):]
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if weights[a] == weights[b] {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[weights[a] > weights[b]]
	})
	var kept []regress.Architecture
	for _, i := range order[:min(mostTried, len(order))] {
		if weights[i] >= triedWeight {
			kept = append(kept, s.Networks[i])
		}
	}
	return kept, nil
}

// moments are those of all held-out rows, and of every block.
func (m *members) moments(t *table) (all *moments, each []*moments) {
	for _, span := range t.blocks {
		b := newMoments(t, m.estimates, span)
		if each = append(each, b); all == nil {
			all = b
		} else {
			all = all.plus(b, 1)
		}
	}
	return all, each
}

// fit fits the members with a weight on all rows. Checkpoints are in a folder with the name of the fit.
func (m *members) fit(ctx context.Context, t *table, name string, weights []float64, o models.Options) (estimate.Blend, error) {
	rows := everyRow(t.data)
	announce(o, "fit on all rows", m.fitSteps(weights, len(rows)))
	var b estimate.Blend
	for _, f := range m.families {
		n := len(f.Members())
		if net, ok := f.(regress.Networks); ok {
			net.Options = stage(net.Options, name)
			f = net
		}
		parts, err := f.Fit(ctx, t.data, rows, weights[:n])
		if err != nil {
			return b, err
		}
		b.Parts, weights = append(b.Parts, parts...), weights[n:]
	}
	return b, nil
}

// fitSteps are the optimiser steps of a fit of the members with a weight.
func (m *members) fitSteps(weights []float64, rows int) (steps int) {
	for _, f := range m.families {
		n := len(f.Members())
		if net, ok := f.(regress.Networks); ok {
			for _, w := range weights[:n] {
				if w != 0 {
					steps += net.Seeds * net.ModelSteps(rows)
				}
			}
		}
		weights = weights[n:]
	}
	return steps
}
