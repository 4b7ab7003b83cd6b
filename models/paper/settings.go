package paper

import (
	"errors"
	"fmt"
	"math"

	"pipe/internal/config"
	"pipe/models"
)

// Settings are the settings of the recipe, the same for all methods. Zero never means "default": start from
// [DefaultSettings].
type Settings struct {
	Seeds        int             `yaml:"seeds" json:"seeds"` // policies for each lambda
	Seed         uint64          `yaml:"seed" json:"seed"`   // the first
	Tau          float64         `yaml:"tau" json:"tau"`     // of the surrogate, in [0, 3]
	LearningRate float64         `yaml:"learning_rate" json:"learning_rate"`
	L2DRate      float64         `yaml:"l2d_learning_rate" json:"l2d_learning_rate"` // of methods without advice
	WeightDecay  float64         `yaml:"weight_decay" json:"weight_decay"`
	Dropout      float64         `yaml:"dropout" json:"dropout"` // on hidden layers, in [0, 1)
	Network      models.Settings `yaml:"network" json:"network"` // its surrogate is that of the method
}

// DefaultSettings is one hidden layer of 64, 50 epochs and 4 seeds.
func DefaultSettings() Settings {
	n := models.DefaultSettings()
	n.Hidden, n.Epochs, n.Schedule = []int{64}, 50, "cosine"
	return Settings{Seeds: 4, Tau: 1, LearningRate: 1e-3, L2DRate: 1e-3, WeightDecay: 1e-4, Network: n}
}

// mostSeeds bounds the number of models that are in memory at once.
const mostSeeds = 1000

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(s.Seeds > 0 && s.Seeds <= mostSeeds, "seeds: %d, not 1 to %d", s.Seeds, mostSeeds)
	bad(s.LearningRate > 0 && s.LearningRate <= math.MaxFloat64, "learning_rate: %g is not a finite positive number", s.LearningRate)
	bad(s.L2DRate > 0 && s.L2DRate <= math.MaxFloat64, "l2d_learning_rate: %g is not a finite positive number", s.L2DRate)
	bad(s.WeightDecay >= 0 && s.WeightDecay <= math.MaxFloat64, "weight_decay: %g is not a finite non-negative number", s.WeightDecay)
	bad(s.Dropout >= 0 && s.Dropout < 1, "dropout: %g is outside [0, 1)", s.Dropout)
	return errors.Join(append(errs, models.CheckTau(s.Tau), config.Under("network", s.Network.Validate()))...)
}
