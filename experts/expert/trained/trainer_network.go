package trained

import (
	"context"
	"errors"
	"fmt"
	"os"

	"pipe/models"
	"pipe/models/network"
	"pipe/onnx/ort"
)

// networkTrainer trains small networks with the engine that trains policies.
type networkTrainer struct {
	networkSettings
	runtime *ort.Runtime
	hidden  []int
	dropout float64
	balance balance
}

// balance is the weighting of the classes of a model.
type balance int

const (
	byWeight balance = iota // all classes count the same: rows of rarer ones weigh more
	byRepeat                // all classes count the same: rows of rarer ones are repeated
	byShares                // a class counts as much as its number of rows
)

// networkSettings are the settings of experts that are networks.
type networkSettings struct {
	Epochs       int     `json:"epochs"`
	Batch        int     `json:"batch"`
	LearningRate float64 `json:"learning_rate"` // the peak; it falls to 0 as a cosine
	WeightDecay  float64 `json:"weight_decay"`
}

// settings returns the engine's settings. With one model per group, the bits of a
// model do not depend on the other models.
func (n *networkTrainer) settings(workers int) models.Settings {
	s := models.DefaultSettings()
	s.Hidden, s.Head, s.Surrogate = n.hidden, "linear", "weighted"
	s.Epochs, s.Batch, s.Schedule = n.Epochs, n.Batch, "cosine"
	s.Workers, s.Group = workers, 1
	return s
}

func (n *networkTrainer) spec(seed uint64, rows []int32) models.Spec {
	return models.Spec{Seed: seed, LearningRate: n.LearningRate, WeightDecay: n.WeightDecay, Tau: 1, Dropout: n.dropout, Rows: rows}
}

// Check returns problems of the settings that make training impossible.
func (n *networkTrainer) Check() error {
	err := n.settings(1).Validate()
	if !(n.LearningRate > 0) {
		err = errors.Join(err, fmt.Errorf("learning_rate: %v is not positive", n.LearningRate))
	}
	if !(n.WeightDecay >= 0) {
		err = errors.Join(err, fmt.Errorf("weight_decay: %v is negative", n.WeightDecay))
	}
	if !(n.dropout >= 0 && n.dropout < 1) {
		err = errors.Join(err, fmt.Errorf("dropout: %v is outside [0, 1)", n.dropout))
	}
	return err
}

// Train trains the networks of all folds concurrently.
func (n *networkTrainer) Train(ctx context.Context, set *trainingSet, fits []fit, t *training) error {
	var weight []float64
	if n.balance == byWeight {
		// Folds preserve the shares of the classes, so all can use the same weights.
		weight = models.BalancedWeights(set.Class, set.Classes)
	}
	problem, err := models.ClassProblem(set.X, set.Width, set.Class, set.Classes, weight)
	if err != nil {
		return err
	}
	var specs []models.Spec
	var steps int64
	for _, l := range fits {
		rows := l.rows
		if n.balance == byRepeat {
			rows = oversample(rows, set.Class, set.Classes, t.Seed)
		}
		specs = append(specs, n.spec(t.Seed, rows))
		steps += int64(n.Epochs * ((len(rows) + n.Batch - 1) / n.Batch))
	}
	t.Progress.Start(steps, "steps of "+t.Name)
	out, err := n.train(ctx, problem, specs, t)
	t.Progress.Done()
	if err != nil {
		return err
	}
	for i, l := range fits {
		if err := n.finish(out[i].Network, l, t); err != nil {
			return err
		}
	}
	return nil
}

// train trains the networks, from the checkpoint of an earlier run if it matches.
func (n *networkTrainer) train(ctx context.Context, p *models.Problem, specs []models.Spec, t *training) ([]models.Trained, error) {
	o := models.Options{
		Runtime: n.runtime, Progress: func(steps int) { t.Progress.Add(int64(steps)) },
		Save: models.CheckpointPolicy{Dir: t.Scratch, Every: t.Checkpoint},
	}
	out, err := models.Train(ctx, p, specs, n.settings(t.Workers), o)
	if !errors.Is(err, models.ErrOtherCheckpoint) {
		return out, err
	}
	// The checkpoint is of other rows, settings or workers.
	if err := os.RemoveAll(t.Scratch); err != nil {
		return nil, err
	}
	return models.Train(ctx, p, specs, n.settings(t.Workers), o)
}

// finish passes a network on as an ONNX model.
func (n *networkTrainer) finish(m network.MLP, l fit, t *training) error {
	file, err := m.ExportClassifier()
	if err != nil {
		return err
	}
	return t.Done(l, &classifier{Model: file, Probability: func(rows []float32) ([]float64, error) {
		var p []float64
		for at := 0; at < len(rows); at += m.In() {
			of := m.Classify(rows[at : at+m.In()])
			p = append(p, of[len(of)-outputs(len(of)):]...)
		}
		return p, nil
	}})
}
