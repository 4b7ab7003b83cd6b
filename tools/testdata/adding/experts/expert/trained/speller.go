package trained

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// spellerSettings describe a logistic regression on the number of letters.
type spellerSettings struct {
	learnerSettings
	networkSettings
}

func newSpeller(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := spellerSettings{defaultLearnerSettings(), networkSettings{Epochs: 200, Batch: 64, LearningRate: 0.1}}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	rows, err := newTrainingRows(ctx, s, cfg.Seed)
	if err != nil {
		return nil, err
	}
	e := &learner{
		learnerSettings: cfg.learnerSettings, examples: rows, encoder: letterEncoder{},
		trainer: &networkTrainer{networkSettings: cfg.networkSettings, runtime: rt},
	}
	return newLearner(s, e, "speller", cfg.networkSettings)
}

// letterEncoder makes one number of a text, whatever is shown of it.
type letterEncoder struct{}

func (letterEncoder) Width() int { return 1 }

func (letterEncoder) Encode(_ context.Context, dst []float32, batch []part.Instance, shown [][]part.AdvicePayload) error {
	at := 0
	for _, in := range batch {
		for k := range shown {
			if shown[k] != nil {
				dst[at] = float32(len(in.Text)) - 4.5
				at++
			}
		}
	}
	if at != len(dst) {
		return errors.New("rows are left over")
	}
	return nil
}
