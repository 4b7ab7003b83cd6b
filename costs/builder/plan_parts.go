package builder

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/costs/identity"
	"pipe/internal/textfile"
)

func (p *plan) makeSource(ctx context.Context) error {
	err := p.openSource(ctx)
	return made(ctx, instancesPart, err)
}

func (p *plan) openSource(ctx context.Context) error {
	create, err := part.Lookup(p.kinds.Sources, p.cfg.Instances.Kind)
	if err != nil {
		return err
	}
	source, err := create(ctx, p.Setup(instancesPart), p.cfg.Instances.Settings)
	if err != nil {
		return err
	}
	p.Own(source)
	p.Source = source
	entries := source.Entries()
	if len(entries) == 0 {
		return part.ErrNoInstances
	}
	p.options.Labels, p.options.Groups = entries[0].Label != "", entries[0].Group != ""
	listed := p.cfg.Labels
	if e, ok := source.(part.EncodedSource); ok && len(listed) == 0 && p.options.Labels {
		listed = e.Encoder().Labels() // the negative one first
	}
	if c, ok := source.(part.ClassLister); ok && len(listed) == 0 {
		listed = c.Classes()
	}
	p.Labels, err = labelsOf(entries, listed)
	return err
}

func (p *plan) makeSplit(ctx context.Context) error {
	split, err := part.Lookup(p.kinds.Splits, p.cfg.Split.Kind)
	if err == nil {
		p.splits, err = split(ctx, p.Setup(splitPart), p.cfg.Split.Settings)
	}
	p.SetSplits(p.splits)
	return made(ctx, splitPart, err)
}

// labelsOf returns the labels there are: those listed, against which every
// instance is checked, or else those of the instances, sorted.
func labelsOf(entries []part.Entry, listed []string) ([]string, error) {
	found := make(map[string]bool)
	for _, e := range entries {
		if e.Label == "" {
			continue
		}
		if len(listed) > 0 && !found[e.Label] && !slices.Contains(listed, e.Label) {
			return nil, fmt.Errorf("instance %q: unknown label %q; known are %s", e.ID, e.Label, textfile.Listed(listed, part.NamesShown))
		}
		found[e.Label] = true
	}
	if len(listed) > 0 {
		return listed, nil
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func (p *plan) makeLoss(ctx context.Context) error {
	const name = "task_loss"
	create, err := part.Lookup(p.kinds.Losses, p.cfg.TaskLoss.Kind)
	if err == nil {
		p.loss, err = create(ctx, p.Setup(name), p.cfg.TaskLoss.Settings)
	}
	return made(ctx, name, err)
}

func (p *plan) makeAdvice(ctx context.Context) error {
	for k, c := range p.cfg.Advice {
		s := p.Setup(part.AdviceName(c.Name))
		s.Name = c.Name
		create, err := part.Lookup(p.kinds.Advice, c.Kind)
		if err == nil {
			p.Levels[k].Advice, err = create(ctx, s, c.Settings)
		}
		if err != nil {
			return made(ctx, s.Part, err)
		}
		p.Own(p.Levels[k].Advice)
	}
	return nil
}

func (p *plan) makeExperts(ctx context.Context) error {
	for j, c := range p.cfg.Experts {
		s := p.Setup(part.ExpertName(c.Name))
		s.Name, s.Unavailable = c.Name, c.Unavailable
		e, err := p.makeExpert(ctx, s, c)
		if err != nil {
			return made(ctx, s.Part, err)
		}
		named := part.NamedExpert{Expert: e, Name: c.Name}
		p.Own(named)
		for k, level := range p.Levels {
			selective, ok := e.(part.Selective)
			takes := !slices.Contains(c.Unavailable, level.Name) && (!ok || selective.Takes(level.Name))
			named.Takes = append(named.Takes, takes)
			if !takes {
				p.actions.Unavailable = append(p.actions.Unavailable, costs.Pair{Expert: j, Advice: k})
			}
		}
		if m, ok := e.(part.Metered); ok && m.Metered() {
			p.options.Fee = true
		}
		p.Experts = append(p.Experts, named)
	}
	return nil
}

func (p *plan) makeExpert(ctx context.Context, s *part.Setup, c part.ExpertConfig) (part.Expert, error) {
	create, err := part.Lookup(p.kinds.Experts, c.Kind)
	if err != nil {
		return nil, err
	}
	return create(ctx, s, c.Settings)
}

func (p *plan) makeFeatures(ctx context.Context) error {
	var names []string
	for i, c := range p.cfg.Features {
		f, err := p.makeFeature(ctx, p.Setup(p.featurePart(i)), c)
		if err != nil {
			return made(ctx, p.featurePart(i), err)
		}
		p.Own(f)
		p.features = append(p.features, f)
		p.options.Dim += f.Dim()
		names = append(names, f.Name())
	}
	p.actions.Features = costs.FeatureSource{Name: identity.Join(names), Dim: p.options.Dim}
	return nil
}

func (p *plan) makeFeature(ctx context.Context, s *part.Setup, c part.Part) (part.Feature, error) {
	create, err := part.Lookup(p.kinds.Features, c.Kind)
	if err != nil {
		return nil, err
	}
	return create(ctx, s, c.Settings)
}

// instancesPart is the name of the source in inputs and errors.
const instancesPart = "instances"

func (p *plan) featurePart(i int) string {
	return fmt.Sprintf("features[%d] %s", i, p.cfg.Features[i].Kind)
}

// splitPart is the name of the split in inputs and errors.
const splitPart = "split"
