package trained

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/lightgbm"
)

// boostedTreesSettings describe histogram boosted trees with balanced sample
// weights. The seed is used for the trees.
type boostedTreesSettings struct {
	Threshold float64 `json:"threshold"`
	lightgbm.Params
}

func newBoostedTrees(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := boostedTreesSettings{defaultLearnerSettings().Threshold, lightgbm.DefaultParams()}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	library, err := lightgbm.Open("")
	if err != nil {
		return nil, err
	}
	if err := s.File(ctx, "library", storage.File(library.Path())); err != nil {
		return nil, err
	}
	e := &learner{
		learnerSettings: learnerSettings{cfg.Threshold, cfg.Seed},
		trainer:         &treeTrainer{library, cfg.Params},
	}
	return newTabularLearner(ctx, s, e, tabular.LayoutTree, "boosted_trees", cfg.Params, "library "+s.Inputs["library of "+s.Part])
}

// treeTrainer trains boosted trees with LightGBM.
type treeTrainer struct {
	library *lightgbm.Library
	params  lightgbm.Params
}

// Check returns problems of the settings that make training impossible.
func (b *treeTrainer) Check() error { return b.params.Validate() }

// Train trains one model after the other, since the library runs its own threads.
func (b *treeTrainer) Train(ctx context.Context, set *trainingSet, fits []fit, t *training) error {
	t.Progress.Start(int64(len(fits)*b.params.Rounds), "trees of "+t.Name)
	defer t.Progress.Done()
	for _, l := range fits {
		if err := b.grow(ctx, set, l, t); err != nil {
			return err
		}
	}
	return nil
}

func (b *treeTrainer) grow(ctx context.Context, set *trainingSet, l fit, t *training) error {
	if len(l.rows) < set.Len() {
		set = set.subset(l.rows)
	}
	label, weight := make([]float32, set.Len()), make([]float32, set.Len())
	for i, w := range models.BalancedWeights(set.Class, 2) {
		label[i], weight[i] = float32(set.Class[i]), float32(w)
	}
	done := 0
	booster, err := b.library.Train(ctx, set.X, set.Len(), set.Width, label, weight, b.params, func(round int) {
		t.Progress.Add(int64(round - done))
		done = round
	})
	if err != nil {
		return err
	}
	defer booster.Close()
	text, err := booster.Text()
	if err != nil {
		return err
	}
	parsed, err := lightgbm.ParseModel([]byte(text))
	if err != nil {
		return fmt.Errorf("read the trees: %w", err)
	}
	file, err := parsed.Export()
	if err != nil {
		return err
	}
	return t.Done(l, &classifier{Model: file, Probability: func(rows []float32) ([]float64, error) {
		return booster.Predict(rows, len(rows)/set.Width)
	}})
}
