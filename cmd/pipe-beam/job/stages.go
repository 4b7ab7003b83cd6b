package job

import (
	"context"
	"encoding/json"
	"fmt"

	"pipe/pipeline"
	"pipe/pipeline/shards"
	"pipe/pipeline/sweep"
)

// Stages are the stages of pipe that fall into shards.
func Stages() map[string]Opener {
	return map[string]Opener{
		"train": openTrain,
	}
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
