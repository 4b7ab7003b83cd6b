package auto

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"pipe/models"
)

// Candidate is one point of the grid that the recipe searches.
type Candidate struct {
	Hidden       []int   `json:"hidden" yaml:"hidden"` // none or one layer; empty is the linear scorer
	Dropout      float64 `json:"dropout" yaml:"dropout"`
	WeightDecay  float64 `json:"weight_decay" yaml:"weight_decay"`
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
	Tau          float64 `json:"tau" yaml:"tau"` // of the surrogate, in [0, 3]
}

// Settings are the settings of the recipe. Zero never means "default": start from [DefaultSettings].
type Settings struct {
	Grid        []Candidate `json:"grid" yaml:"grid"`               // the candidates
	Steps       int         `json:"steps" yaml:"steps"`             // approximate optimiser steps of a full run; they and the rows give the epochs
	Evaluations int         `json:"evaluations" yaml:"evaluations"` // points of a run at which it may stop
	TauWarmup   float64     `json:"tau_warmup" yaml:"tau_warmup"`   // as in models.Settings
	CrossFit    int         `json:"cross_fit" yaml:"cross_fit"`     // up to this many training rows, Folds folds; above, one inner split
	Folds       int         `json:"folds" yaml:"folds"`             // and blocks of the one inner split
	Inner       float64     `json:"inner" yaml:"inner"`             // share of the training rows in the one inner split
	Seeds       int         `json:"seeds" yaml:"seeds"`             // members of the exported policy
	Seed        uint64      `json:"seed" yaml:"seed"`               // of the splits and of the first member
	Confidence  float64     `json:"confidence" yaml:"confidence"`   // of the guard, one-sided
	Workers     int         `json:"workers" yaml:"workers"`         // single-threaded sessions side by side
}

// DefaultSettings has a grid from linear scorers to one hidden layer. Strong regularisation suits noisy tables with
// little head-room, weak regularisation large tables with sharp boundaries.
//
// Every hidden candidate comes at tau = 1 and tau = 2. At tau = 2 the surrogate is the expected cost under the softmax
// policy. It does not estimate how much worse the other pairs are, and decides better on noisy tables. At tau = 1
// training is faster if there are many pairs. The surrogate of tau = 2 is not convex in the scores: from a random start
// some models never leave the best fixed pair. The tau warm-up therefore starts them at tau = 1.
func DefaultSettings() Settings {
	grid := []Candidate{
		{WeightDecay: 1e-3, LearningRate: 3e-3, Tau: 1},
		{WeightDecay: 1e-1, LearningRate: 3e-3, Tau: 1},
	}
	for _, tau := range []float64{1, 2} {
		for _, c := range []Candidate{
			{Dropout: 0.5, WeightDecay: 1e-1, LearningRate: 1e-3},
			{Dropout: 0.5, WeightDecay: 1e-2, LearningRate: 4e-3},
			{Dropout: 0.3, WeightDecay: 3e-1, LearningRate: 4e-3},
			{Dropout: 0.1, WeightDecay: 1e-2, LearningRate: 4e-3},
		} {
			c.Hidden, c.Tau = []int{128}, tau
			grid = append(grid, c)
		}
	}
	return Settings{
		Grid: grid, Steps: 3000, Evaluations: 20, TauWarmup: 0.25, CrossFit: 40_000, Folds: 5, Inner: 0.25,
		Seeds: 4, Confidence: 0.95, Workers: runtime.GOMAXPROCS(0),
	}
}

// mostMembers bounds the number of networks that a policy averages.
const mostMembers = 1000

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(len(s.Grid) > 0, "grid: no candidates")
	for i, c := range s.Grid {
		bad(len(c.Hidden) <= 1, "grid: candidate %d has %d hidden layers, at most one is searched", i, len(c.Hidden))
		bad(len(c.Hidden) == 0 || c.Hidden[0] > 0, "grid: candidate %d: hidden layers of %v", i, c.Hidden)
		bad(c.Dropout >= 0 && c.Dropout < 1, "grid: candidate %d: dropout %g is outside [0, 1)", i, c.Dropout)
		bad(c.WeightDecay >= 0 && c.WeightDecay <= math.MaxFloat64, "grid: candidate %d: weight_decay %g is not a finite non-negative number", i, c.WeightDecay)
		bad(c.LearningRate > 0 && c.LearningRate <= math.MaxFloat64, "grid: candidate %d: learning_rate %g is not a finite positive number", i, c.LearningRate)
		if err := models.CheckTau(c.Tau); err != nil {
			bad(false, "grid: candidate %d: %v", i, err)
		}
	}
	bad(s.Steps > 0, "steps: %d, at least 1 is needed", s.Steps)
	bad(s.Evaluations > 0, "evaluations: %d, at least 1 is needed", s.Evaluations)
	bad(s.TauWarmup >= 0 && s.TauWarmup <= 1, "tau_warmup: %g, a share in [0, 1] is needed", s.TauWarmup)
	bad(s.Folds >= 2, "folds: %d, at least 2 are needed", s.Folds)
	bad(s.Inner > 0 && s.Inner < 1, "inner: %g, a share in (0, 1) is needed", s.Inner)
	bad(s.Seeds > 0 && s.Seeds <= mostMembers, "seeds: %d, not 1 to %d", s.Seeds, mostMembers)
	bad(s.Confidence > 0 && s.Confidence < 1, "confidence: %g, a probability in (0, 1) is needed", s.Confidence)
	bad(s.Workers > 0, "workers: %d, at least 1 is needed", s.Workers)
	return errors.Join(errs...)
}
