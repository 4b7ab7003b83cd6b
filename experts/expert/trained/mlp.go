package trained

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// mlpSettings describe a network with ReLU layers. Rows of the rarer class are
// repeated until both classes have the same number of rows.
type mlpSettings struct {
	learnerSettings
	mlpLearning
}

// mlpLearning has the settings that the network depends on.
type mlpLearning struct {
	networkSettings
	Hidden  []int   `json:"hidden"`  // widths of the layers
	Dropout float64 `json:"dropout"` // of the layers
}

func newMLP(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := mlpSettings{
		defaultLearnerSettings(),
		mlpLearning{networkSettings: networkSettings{Epochs: 10, Batch: 512, LearningRate: 0.001}},
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Hidden == nil {
		cfg.Hidden = []int{64}
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	e := &learner{
		learnerSettings: cfg.learnerSettings,
		trainer:         &networkTrainer{networkSettings: cfg.networkSettings, hidden: cfg.Hidden, dropout: cfg.Dropout, balance: byRepeat, runtime: rt},
	}
	return newTabularLearner(ctx, s, e, tabular.LayoutDense, "mlp", cfg.mlpLearning)
}
