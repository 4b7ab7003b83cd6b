package job

import (
	"context"
	"encoding/json"
	"fmt"

	"pipe/costs/chat"
	"pipe/onnx/ort"
	"pipe/pipeline"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
	"pipe/pipeline/sweep"
)

// Stages are the stages of pipe that fall into shards.
func Stages() map[string]Opener {
	return map[string]Opener{
		"check":      openCheck,
		"costs":      openCosts,
		FeaturizeFit: openFeaturizeFit,
		"featurize":  openFeaturize,
		"decide":     openDecide,
		"train":      openTrain,
	}
}

// Costs are the options of a cost tensor.
type Costs struct {
	Config, Out, Answers string
	Budget               *float64 // money; nil: any
	SkipBad              bool
	Runtime              ort.Config
	Shards               sharded.ShardOptions
}

func openCosts(ctx context.Context, options json.RawMessage) (_ shards.Stage, err error) {
	var o Costs
	if err := read(options, &o); err != nil {
		return nil, err
	}
	c := pipeline.CostsOptions{Config: o.Config, Out: o.Out, Answers: o.Answers, SkipBad: o.SkipBad, Runtime: o.Runtime}
	if o.Budget != nil {
		if c.Budget, err = chat.NewBudget(*o.Budget); err != nil {
			return nil, err
		}
	}
	return sharded.OpenCosts(ctx, c, o.Shards, stage.Quiet)
}

// Train are the options of training.
type Train struct {
	pipeline.TrainOptions
	Shards int // 0: as many as there are policies
}

func openTrain(_ context.Context, options json.RawMessage) (shards.Stage, error) {
	var o Train
	if err := read(options, &o); err != nil {
		return nil, err
	}
	return sweep.New(o.TrainOptions, o.Shards)
}

// read reads the options of a stage.
func read(options json.RawMessage, into any) error {
	if err := json.Unmarshal(options, into); err != nil {
		return fmt.Errorf("read the options of the stage: %w", err)
	}
	return nil
}
