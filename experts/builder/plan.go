package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/digest"
	"pipe/internal/textfile"
)

// plan is a configuration with every part made and checked.
type plan struct {
	*part.Build
	cfg        *part.Config
	kinds      *part.Kinds
	known      map[string]bool // the labels
	splits     []costs.Split   // per instance
	features   []part.Feature
	vectors    part.TextFeature // gives the vectors of answers; nil: there is none, or no answer is a text
	dims       []int            // values per instance of each feature
	actions    *costs.Actions
	session    *chat.Session
	options    costs.WriterOptions // what the rows have
	latency    []PairLatency       // nil until it is known
	latencyFee []float32           // per action; nil until it is known

	someExperts bool // the experts are some of those of a build: the others may know facts that these do not
}

// PartError says that a part of the configuration cannot be made, because of
// its settings, the files they name, or a missing runtime library.
type PartError struct {
	Part string // such as `expert "vit"`
	Err  error
}

// Error returns the part and what is wrong with it.
func (e *PartError) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *PartError) Unwrap() error { return e.Err }

// newPlan makes every part of a configuration. It reads all input files once,
// for their digests. The caller closes the plan.
func newPlan(ctx context.Context, cfg *part.Config, o *Options) (*plan, error) {
	p := blankPlan(cfg, o)
	err := p.make(ctx, p.makeSource, p.makeSplit, p.makeLoss, p.makeAdvice, p.makeExperts, p.recordPrices, p.makeFeatures, p.makeFacts, p.makeLatency)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.Inputs.SetJSON(part.SettingsRole, "build", p.shape()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.describe()
	if err := p.actions.Validate(); err != nil {
		return nil, errors.Join(&PartError{"experts", err}, p.Close())
	}
	return p, nil
}

// blankPlan returns a plan without parts.
func blankPlan(cfg *part.Config, o *Options) *plan {
	p := &plan{cfg: cfg, kinds: o.Kinds, actions: cfg.Actions(), someExperts: o.someExperts}
	p.Build = &part.Build{
		SourceKind: cfg.Instances.Kind, SplitKind: cfg.Split.Kind, Dir: o.Dir, Folder: o.Experts, Workers: cfg.WorkerCount(),
		CrossFit: cfg.CrossFit, FoldSeed: cfg.FoldSeed, SkipBad: o.SkipBad, Progress: o.Progress,
		Held: textfile.NewMemoryBudget(cmp.Or(o.memory, textfile.MaxHeld)),
		Open: o.runtime, OpenText: o.OpenText, Inputs: make(part.Inputs), Divide: o.divide,
	}
	p.session = chat.OpenSession(p.Build, o.Answers, o.Budget)
	if o.share != nil {
		o.share(p.session)
	}
	for _, a := range cfg.Advice {
		p.Levels = append(p.Levels, part.Level{Name: a.Name, Kind: a.Kind})
	}
	return p
}

// make makes parts; an error that is not ctx's names the part.
func (p *plan) make(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// made adds the name of the part to an error that is not ctx's.
func made(ctx context.Context, part string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &PartError{part, err}
}

// shape is what the settings of the parts do not cover. It excludes fees: they
// are applied last, so a new price needs no new answers.
func (p *plan) shape() any {
	type expert struct {
		Name  string
		Kind  string
		Takes []bool
	}
	type level struct{ Name, Kind string }
	out := struct {
		Labels       []string
		Shard, Batch int
		Kinds        []string
		Experts      []expert
		Advice       []level
		Audit        bool         `json:",omitempty"`
		Observe      []costs.Fact `json:",omitempty"`
	}{Labels: p.cfg.Labels, Shard: p.cfg.Shard, Batch: p.cfg.Batch, Audit: p.cfg.Audit, Observe: p.options.Facts}
	out.Kinds = []string{p.cfg.Instances.Kind, p.cfg.Split.Kind, p.cfg.TaskLoss.Kind}
	for j, e := range p.Experts {
		out.Experts = append(out.Experts, expert{e.Name, p.cfg.Experts[j].Kind, e.Takes})
	}
	for _, a := range p.cfg.Advice {
		out.Advice = append(out.Advice, level{a.Name, a.Kind})
	}
	return out
}

// describe puts the digests of the inputs into the actions. Settings and images
// are many: one digest stands for all settings, and one for all images.
func (p *plan) describe() {
	p.options.Predictions = true
	p.actions.Digests = make(map[string]string)
	settings := digest.New()
	for _, name := range slices.Sorted(maps.Keys(p.Inputs)) {
		switch {
		case strings.HasPrefix(name, part.ImagePrefix):
		case strings.HasPrefix(name, part.InputName(part.SettingsRole, "")):
			fmt.Fprintf(settings, "%s  %s\n", p.Inputs[name], name)
		default:
			p.actions.Digests[name] = p.Inputs[name]
		}
	}
	p.actions.Digests["settings"] = digest.Sum(settings)
	p.actions.Digests[costs.FeatureDigest] = p.featureDigest()
}

// featureDigest identifies how features are computed, independently of location
// and instances: the blocks and the bytes of their models.
func (p *plan) featureDigest() string {
	var blocks []identity.Block
	for i, f := range p.features {
		parts := []string{p.featurePart(i)}
		if d, ok := f.(part.DerivedFeature); ok {
			parts = append(parts, d.From())
		}
		var models []string
		for _, name := range slices.Sorted(maps.Keys(p.Inputs)) {
			for _, part := range parts {
				if strings.HasPrefix(name, "model") && strings.HasSuffix(name, " of "+part) {
					models = append(models, p.Inputs[name])
				}
			}
		}
		blocks = append(blocks, identity.Block{Name: f.Name(), Dim: f.Dim(), Models: models})
	}
	return identity.Digest(blocks...)
}

// shards returns the number of shards.
func (p *plan) shards() int {
	return (len(p.Source.Entries()) + p.cfg.Shard - 1) / p.cfg.Shard
}

// rows returns the instances of a shard.
func (p *plan) rows(shard int) []int {
	from := shard * p.cfg.Shard
	rows := make([]int, min(p.cfg.Shard, len(p.Source.Entries())-from))
	for i := range rows {
		rows[i] = from + i
	}
	return rows
}
