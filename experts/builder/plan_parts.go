package builder

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/experts/builder/part"
	"pipe/internal/textfile"
)

func (p *plan) makeSource(ctx context.Context) error {
	err := p.openSource(ctx)
	return made(ctx, instancesPart, err)
}

func (p *plan) openSource(ctx context.Context) error {
	source, err := create(ctx, p.kinds.Sources, p.Setup(instancesPart), p.cfg.Instances)
	if err != nil {
		return err
	}
	p.Own(source)
	p.Source = source
	if err := checkEncoder(source); err != nil {
		return err
	}
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
	p.known = make(map[string]bool, len(p.Labels))
	for _, l := range p.Labels {
		p.known[l] = true
	}
	return err
}

func (p *plan) makeSplit(ctx context.Context) error {
	splits, err := create(ctx, p.kinds.Splits, p.Setup(splitPart), p.cfg.Split)
	if err == nil {
		err = checkSplits(splits, p.Source.Entries())
	}
	p.splits = splits
	p.SetSplits(splits)
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

func (p *plan) makeLoss(ctx context.Context) (err error) {
	if p.Loss, err = create(ctx, p.kinds.Losses, p.Setup(lossPart), p.cfg.TaskLoss); err != nil {
		return made(ctx, lossPart, err)
	}
	p.Own(p.Loss)
	_, open := p.Loss.(part.OpenLoss)
	if s, ok := p.Source.(part.ReferenceSource); ok && s.References() != "" && !open {
		return &PartError{lossPart, fmt.Errorf("the instances have references (column %q), which kind %q does not compare answers with: choose a grader, such as exact or number", s.References(), p.cfg.TaskLoss.Kind)}
	}
	return nil
}

func (p *plan) makeAdvice(ctx context.Context) error {
	for k, c := range p.cfg.Advice {
		s := p.Setup(part.AdviceName(c.Name))
		s.Name = c.Name
		a, err := create(ctx, p.kinds.Advice, s, part.Part{Kind: c.Kind, Settings: c.Settings})
		if err != nil {
			return made(ctx, s.Part, err)
		}
		p.Levels[k].Advice = a
		p.Own(a)
	}
	return nil
}

func (p *plan) makeExperts(ctx context.Context) error {
	for j, c := range p.cfg.Experts {
		s := p.Setup(part.ExpertName(c.Name))
		s.Name, s.Unavailable = c.Name, c.Unavailable
		e, err := create(ctx, p.kinds.Experts, s, part.Part{Kind: c.Kind, Settings: c.Settings})
		if err != nil {
			return made(ctx, s.Part, err)
		}
		named := part.NamedExpert{Expert: e, Name: c.Name}
		p.Own(named)
		for k, level := range p.Levels {
			selective, ok := e.(part.Selective)
			takes := !slices.Contains(c.Unavailable, level.Name) && (!ok || selective.Takes(level.Name))
			if err := checkFields(e, level); takes && err != nil {
				return made(ctx, s.Part, err)
			}
			named.Takes = append(named.Takes, takes)
			if !takes {
				p.actions.Unavailable = append(p.actions.Unavailable, costs.Pair{Expert: j, Advice: k})
			}
		}
		if m, ok := e.(part.Metered); ok && m.Metered() {
			p.options.Fee = true
		}
		for q, consumed := range consumed(e) {
			p.options.Usage[q] = p.options.Usage[q] || consumed
		}
		p.Experts = append(p.Experts, named)
	}
	return nil
}

// checkFields returns an error if a level sets fields of requests, and the expert cannot take them.
func checkFields(e part.Expert, level part.Level) error {
	a, sets := level.Advice.(part.FieldSetter)
	if !sets {
		return nil
	}
	t, takes := e.(part.FieldTaker)
	if !takes {
		return fmt.Errorf("%s sets fields of requests, and only experts behind a chat service (kind endpoint) have any: list it under unavailable", part.AdviceName(level.Name))
	}
	if err := t.TakeFields(a); err != nil {
		return fmt.Errorf("%s %w: list it under unavailable", part.AdviceName(level.Name), err)
	}
	return nil
}

// consumed are the quantities of which an expert says how much its calls used.
func consumed(e part.Expert) (flags costs.UsageFlags) {
	if c, ok := e.(part.Consumer); ok {
		flags = c.Consumes()
	}
	return flags
}

func (p *plan) makeFeatures(ctx context.Context) error {
	var names []string
	for i, c := range p.cfg.Features {
		f, err := create(ctx, p.kinds.Features, p.Setup(p.featurePart(i)), c)
		if err != nil {
			return made(ctx, p.featurePart(i), err)
		}
		p.Own(f)
		dim := f.Dim()
		if dim < 1 {
			return made(ctx, p.featurePart(i), fmt.Errorf("it has %d values per instance; at least 1 is needed", dim))
		}
		p.features, p.dims = append(p.features, f), append(p.dims, dim)
		p.options.Dim += dim
		names = append(names, f.Name())
	}
	p.actions.Features = costs.FeatureSource{Name: identity.Join(names), Dim: p.options.Dim}
	if blocks := costs.BlocksText(p.dims); blocks != "" {
		p.record(costs.BlocksKey, blocks)
	}
	return nil
}

// instancesPart is the name of the source in inputs and errors.
const instancesPart = "instances"

func (p *plan) featurePart(i int) string {
	return fmt.Sprintf("features[%d] %s", i, p.cfg.Features[i].Kind)
}

// The names of the split and the task loss in inputs and errors.
const (
	splitPart = "split"
	lossPart  = "task_loss"
)
