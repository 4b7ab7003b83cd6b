package build

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/internal/textfile"
)

func (p *plan) makeSource(ctx context.Context, s *Setup) error {
	s.part = "instances"
	create, err := lookup(sourceKinds, p.cfg.Instances.Kind)
	if err != nil {
		return err
	}
	if p.source, err = create(ctx, s, p.cfg.Instances.Settings); err != nil {
		return err
	}
	s.Source = p.source
	entries := p.source.Entries()
	if len(entries) == 0 {
		return errNoInstances
	}
	p.options.Labels, p.options.Groups = entries[0].Label != "", entries[0].Group != ""
	listed := p.cfg.Labels
	if e, ok := p.source.(Encoded); ok && len(listed) == 0 && p.options.Labels {
		listed = e.Encoder().Labels() // the negative one first
	}
	if c, ok := p.source.(Classed); ok && len(listed) == 0 {
		listed = c.Classes()
	}
	if s.Labels, err = labelsOf(entries, listed); err != nil {
		return err
	}
	p.labels, s.part = s.Labels, splitPart
	split, err := lookup(splitKinds, p.cfg.Split.Kind)
	if err != nil {
		return err
	}
	if p.splits, err = split(ctx, s, p.cfg.Split.Settings); err != nil {
		return err
	}
	s.splits = p.splits
	return nil
}

// labelsOf returns the labels there are: those listed, against which every
// instance is checked, or else those of the instances, sorted.
func labelsOf(entries []Entry, listed []string) ([]string, error) {
	found := make(map[string]bool)
	for _, e := range entries {
		if e.Label == "" {
			continue
		}
		if len(listed) > 0 && !found[e.Label] && !slices.Contains(listed, e.Label) {
			return nil, fmt.Errorf("instance %q: unknown label %q; known are %s", e.ID, e.Label, textfile.Listed(listed, namesShown))
		}
		found[e.Label] = true
	}
	if len(listed) > 0 {
		return listed, nil
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func (p *plan) makeLoss(_ context.Context, s *Setup) error {
	s.part = "task_loss"
	create, err := lookup(lossKinds, p.cfg.TaskLoss.Kind)
	if err != nil {
		return err
	}
	p.loss, err = create(s, p.cfg.TaskLoss.Settings)
	return err
}

func (p *plan) makeAdvice(ctx context.Context, s *Setup) error {
	for _, c := range p.cfg.Advice {
		s.part = advicePart(c.Name)
		create, err := lookup(adviceKinds, c.Kind)
		if err != nil {
			return err
		}
		a, err := create(ctx, s, c.Settings)
		if err != nil {
			return err
		}
		s.advice[c.Name] = a
		p.advice = append(p.advice, a)
	}
	return nil
}

func (p *plan) makeExperts(ctx context.Context, s *Setup) error {
	for j, c := range p.cfg.Experts {
		s.part, s.expert, s.unavailable = expertPart(c.Name), c.Name, c.Unavailable
		create, err := lookup(expertKinds, c.Kind)
		if err != nil {
			return err
		}
		e, err := create(ctx, s, c.Settings)
		if err != nil {
			return err
		}
		named := namedExpert{Expert: e, name: c.Name}
		for k, name := range s.Advice {
			selective, ok := e.(Selective)
			takes := !slices.Contains(c.Unavailable, name) && (!ok || selective.Takes(name))
			named.takes = append(named.takes, takes)
			if !takes {
				p.actions.Unavailable = append(p.actions.Unavailable, costs.Pair{Expert: j, Advice: k})
			}
		}
		if m, ok := e.(Metered); ok && m.Metered() {
			p.options.Fee = true
		}
		p.experts = append(p.experts, named)
		s.experts = p.experts
	}
	return nil
}

func (p *plan) makeFeatures(ctx context.Context, s *Setup) error {
	var names []string
	for i, c := range p.cfg.Features {
		s.part = p.featurePart(i)
		create, err := lookup(featureKinds, c.Kind)
		if err != nil {
			return err
		}
		f, err := create(ctx, s, c.Settings)
		if err != nil {
			return err
		}
		p.features = append(p.features, f)
		p.options.Dim += f.Dim()
		names = append(names, f.Name())
	}
	p.actions.Features = costs.FeatureSource{Name: identity.Join(names), Dim: p.options.Dim}
	return nil
}

func advicePart(name string) string { return fmt.Sprintf("advice %q", name) }

// expertPart and featurePart are the names of parts in inputs and errors.
func expertPart(name string) string { return fmt.Sprintf("expert %q", name) }

func (p *plan) featurePart(i int) string {
	return fmt.Sprintf("features[%d] %s", i, p.cfg.Features[i].Kind)
}
