package trained

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// logisticSettings describe a logistic regression with balanced class weights.
type logisticSettings struct {
	learnerSettings
	networkSettings
}

func newLogistic(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := logisticSettings{
		defaultLearnerSettings(),
		networkSettings{Epochs: 20, Batch: 512, LearningRate: 0.01},
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	e := &learner{
		learnerSettings: cfg.learnerSettings,
		trainer:         &networkTrainer{networkSettings: cfg.networkSettings, runtime: rt},
	}
	return newTabularLearner(ctx, s, e, tabular.LayoutDense, "logistic", cfg.networkSettings)
}
