package job

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/features"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// Featurize are the options of both phases of featurizing.
type Featurize struct {
	features.Options
	Shards int
	Work   shards.Options // of the second phase
}

func openFeaturizeFit(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	first, _, err := featurize(ctx, options)
	return first, err
}

func openFeaturize(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	_, second, err := featurize(ctx, options)
	return second, err
}

func featurize(ctx context.Context, options json.RawMessage) (first, second shards.Stage, err error) {
	var o Featurize
	if err := read(options, &o); err != nil {
		return nil, nil, err
	}
	return sharded.Featurize(ctx, o.Options, o.Shards, o.Work, false, stage.Quiet)
}

// Decide are the options of decisions.
type Decide struct {
	decide.ShardOptions
	Runtime ort.Config
}

func openDecide(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	var o Decide
	if err := read(options, &o); err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	s, err := decide.OpenShards(ctx, rt, o.ShardOptions, io.Discard, stage.Quiet)
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return withRuntime{s, rt}, nil
}

// withRuntime closes the runtime of a stage with it.
type withRuntime struct {
	shards.Stage
	rt *ort.Runtime
}

// Close frees both.
func (s withRuntime) Close() error { return errors.Join(s.Stage.Close(), s.rt.Close()) }
