package models

import (
	"context"
	"errors"
	"fmt"

	"pipe/internal/parallel"
	"pipe/onnx/ort"
)

// Train trains one model per spec on a problem and returns them in order. Models advance in lockstep, in groups that
// fit the cache, with one single-threaded session per worker. The same problem, specs, settings, runtime and device
// give the same bits, also after an interruption.
//
// If a loss is NaN or infinite, the error is a *[NonFiniteError]. If the checkpoint folder belongs to another run, it
// wraps [ErrOtherCheckpoint]. When ctx ends, it is the error of ctx.
func Train(ctx context.Context, p *Problem, specs []Spec, s Settings, o Options) ([]Trained, error) {
	if o.Runtime == nil {
		return nil, ort.ErrNoRuntime
	}
	sur, err := o.surrogate(s)
	if err := errors.Join(p.Validate(), s.check(), err); err != nil {
		return nil, err
	}
	for i, spec := range specs {
		if err := spec.check(p); err != nil {
			return nil, fmt.Errorf("model %d %s: %w", i, spec.Name, err)
		}
	}
	if _, ok := sur.(PartialSurrogate); p.Known != nil && !ok {
		return nil, fmt.Errorf("surrogate %s: it needs every target, and some are not known", sur.Name())
	}
	groups, err := planGroups(p, specs, s, sur, o.Runtime.Device() == ort.CUDA && p.embeds())
	if err != nil {
		return nil, err
	}
	data, err := newTrainingData(o.Runtime, p, o.Save.Dir != "")
	if err != nil {
		return nil, err
	}
	defer data.Close()
	out := make([]Trained, len(specs))
	err = parallel.First(ctx, s.Workers, len(groups), func(ctx context.Context, i int) error {
		g := groups[i]
		trained, err := g.train(ctx, data, o)
		for i, m := range g.members {
			if err == nil {
				out[m] = trained[i]
			}
		}
		return err
	})
	return out, err
}
