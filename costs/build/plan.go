package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/internal/digest"
)

// plan is a configuration with every part made and checked.
type plan struct {
	cfg        *Config
	source     Source
	labels     []string      // all there are
	splits     []costs.Split // per instance
	loss       TaskLoss
	advice     []Advice
	experts    []namedExpert
	features   []Feature
	embedders  map[string]*embedder    // by encoder
	retrievers map[string]*remembering // by settings
	actions    *costs.Actions
	inputs     inputs
	asking     *asking
	bySplit    bool                // losses depend on which rows train
	options    costs.WriterOptions // what the rows have
	latency    []PairLatency       // nil until it is known
	latencyFee []float32           // per action; nil until it is known
}

// PartError says that a part of the configuration cannot be made: its settings,
// or the files they name, are at fault, or the runtime library is missing.
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
func newPlan(ctx context.Context, cfg *Config, o *Options) (*plan, error) {
	p, s := blankPlan(cfg, o)
	err := p.make(ctx, s, p.makeSource, p.makeLoss, p.makeAdvice, p.makeExperts, p.makeFeatures, p.makeLatency)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	s.part, p.bySplit = "build", s.usedSplit
	if err := s.inputs.settings(s.part, p.shape()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.describe()
	if err := p.actions.Validate(); err != nil {
		return nil, errors.Join(&PartError{"experts", err}, p.Close())
	}
	return p, nil
}

// blankPlan returns a plan without parts, and what makes them.
func blankPlan(cfg *Config, o *Options) (*plan, *Setup) {
	p := &plan{
		cfg: cfg, actions: cfg.actions(), inputs: make(inputs), asking: newAsking(o.Answers, o.Budget, o.note),
		embedders: make(map[string]*embedder), retrievers: make(map[string]*remembering),
	}
	s := &Setup{
		cfg: cfg, dir: o.Dir, folder: o.Experts, open: o.runtime, inputs: p.inputs, progress: o.Progress, skipBad: o.SkipBad,
		advice: make(map[string]Advice), embedders: p.embedders, retrievers: p.retrievers, asking: p.asking,
		slots: make(chan struct{}, p.workers()), held: o.held(),
	}
	s.Advice = p.adviceNames()
	return p, s
}

// make makes parts; an error that is not ctx's names the part.
func (p *plan) make(ctx context.Context, s *Setup, steps ...func(context.Context, *Setup) error) error {
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return &PartError{s.part, err}
		}
	}
	return nil
}

// shape is what the parts' own settings do not tell. Fees are not part of it:
// they are applied late, and a new price asks for no new answer.
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
		Audit        bool `json:",omitempty"`
	}{Labels: p.cfg.Labels, Shard: p.cfg.Shard, Batch: p.cfg.Batch, Audit: p.cfg.Audit}
	out.Kinds = []string{p.cfg.Instances.Kind, p.cfg.Split.Kind, p.cfg.TaskLoss.Kind}
	for j, e := range p.experts {
		out.Experts = append(out.Experts, expert{e.name, p.cfg.Experts[j].Kind, e.takes})
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
	for _, name := range slices.Sorted(maps.Keys(p.inputs)) {
		switch {
		case strings.HasPrefix(name, imagePrefix):
		case strings.HasPrefix(name, settingsPrefix):
			fmt.Fprintf(settings, "%s  %s\n", p.inputs[name], name)
		default:
			p.actions.Digests[name] = p.inputs[name]
		}
	}
	p.actions.Digests["settings"] = digest.Sum(settings)
	p.actions.Digests[costs.FeatureDigest] = p.featureDigest()
}

// featureDigest identifies how features are computed, wherever and over
// whatever instances: the blocks and the bytes of the models behind them.
func (p *plan) featureDigest() string {
	var blocks []identity.Block
	for i, f := range p.features {
		parts := []string{p.featurePart(i)}
		if d, ok := f.(Derived); ok {
			parts = append(parts, d.From())
		}
		var models []string
		for _, name := range slices.Sorted(maps.Keys(p.inputs)) {
			for _, part := range parts {
				if strings.HasPrefix(name, "model") && strings.HasSuffix(name, " of "+part) {
					models = append(models, p.inputs[name])
				}
			}
		}
		blocks = append(blocks, identity.Block{Name: f.Name(), Dim: f.Dim(), Models: models})
	}
	return identity.Digest(blocks...)
}

// shards returns the number of shards.
func (p *plan) shards() int {
	return (len(p.source.Entries()) + p.cfg.Shard - 1) / p.cfg.Shard
}

// rows returns the instances of a shard.
func (p *plan) rows(shard int) []int {
	from := shard * p.cfg.Shard
	rows := make([]int, min(p.cfg.Shard, len(p.source.Entries())-from))
	for i := range rows {
		rows[i] = from + i
	}
	return rows
}

// Close frees the experts, what advice holds, the source and the answers.
func (p *plan) Close() error {
	var errs []error
	for _, e := range p.experts {
		errs = append(errs, e.Close())
	}
	p.experts = nil
	for _, e := range p.embedders {
		errs = append(errs, e.Close())
	}
	p.embedders = nil
	for _, f := range p.features {
		if c, ok := f.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	p.features = nil
	for _, a := range p.advice {
		if c, ok := a.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	p.advice = nil
	for _, r := range p.retrievers {
		errs = append(errs, r.Close())
	}
	p.retrievers = nil
	if c, ok := p.source.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	p.source = nil
	errs = append(errs, p.asking.store.Close())
	return errors.Join(errs...)
}
