package job

import (
	"context"
	"encoding/json"
	"fmt"

	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/costing"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// Stages are the stages of pipe that fall into shards.
func Stages() map[string]Opener {
	return map[string]Opener{
		"check":      openCheck,
		CostsPass:    openCostsPass,
		"costs":      openCosts,
		FeaturizeFit: openFeaturizeFit,
		"featurize":  openFeaturize,
		"decide":     openDecide,
		"train":      openTrain,
	}
}

// Stages that come before others, with a work folder within theirs.
const (
	FeaturizeFit = "featurize-fit"
	CostsPass    = "costs-pass" // looks at every image; other instances need none
)

// FolderOf is the folder of a stage that comes before another, within the work folder of that.
func FolderOf(stage string) string {
	return map[string]string{FeaturizeFit: sharded.FeaturizeFolder, CostsPass: sharded.PassFolder}[stage]
}

// Costs are the options of a cost tensor.
type Costs struct {
	Config, Out, Answers storage.Location
	Budget               *float64 // money; nil: any
	SkipBad              bool
	Runtime              ort.Config
	Shards               sharded.ShardOptions
}

func openCosts(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	o, s, err := readCosts(options)
	if err != nil {
		return nil, err
	}
	return sharded.OpenCosts(ctx, o, s, stage.Quiet)
}

// openCostsPass returns nil if there is no pass.
func openCostsPass(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	o, _, err := readCosts(options)
	if err != nil {
		return nil, err
	}
	return sharded.OpenCostsPass(ctx, o, stage.Quiet)
}

func readCosts(options json.RawMessage) (c costing.Options, s sharded.ShardOptions, err error) {
	var o Costs
	if err := read(options, &o); err != nil {
		return c, s, err
	}
	c = costing.Options{Config: o.Config, Out: o.Out, Answers: o.Answers, SkipBad: o.SkipBad, Runtime: o.Runtime}
	if o.Budget != nil {
		if c.Budget, err = chat.NewBudget(*o.Budget); err != nil {
			return c, s, err
		}
	}
	return c, o.Shards, nil
}

// Train are the options of training.
type Train struct {
	train.Options
	Shards int // 0: as many as there are policies
}

func openTrain(ctx context.Context, options json.RawMessage) (shards.Stage, error) {
	var o Train
	if err := read(options, &o); err != nil {
		return nil, err
	}
	return train.OpenShards(ctx, o.Options, o.Shards)
}

// read reads the options of a stage.
func read(options json.RawMessage, into any) error {
	if err := json.Unmarshal(options, into); err != nil {
		return fmt.Errorf("read the options of the stage: %w", err)
	}
	return nil
}
