package auto

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"pipe/models/lightgbm"
	"pipe/models/policy"
	"pipe/models/regress"
)

// Settings are the settings of the recipe. Zero never means "default": start from [DefaultSettings].
type Settings struct {
	Ridge         []float64              `json:"ridge" yaml:"ridge"`                   // penalties of ridge regressions; none: no such members
	Neighbours    []int                  `json:"neighbours" yaml:"neighbours"`         // numbers of neighbours; none: no such members
	NeighbourRows int                    `json:"neighbour_rows" yaml:"neighbour_rows"` // rows that neighbours are among, at most
	Trees         []int                  `json:"trees,omitempty" yaml:"trees"`         // numbers of boosted trees of a pair; none: no such members, and LightGBM is not needed
	FileMiB       int                    `json:"file_mib" yaml:"file_mib"`             // largest size of the neighbours' rows, and of the trees, in the policy file, in MiB
	Networks      []regress.Architecture `json:"networks" yaml:"networks"`             // none: no such members
	Steps         int                    `json:"steps" yaml:"steps"`                   // optimiser steps of a network, rounded up to whole epochs
	Margins       []float64              `json:"margins" yaml:"margins"`               // that the gate may have, as shares of the range of losses, ascending
	Apart         *bool                  `json:"apart,omitempty" yaml:"apart"`         // whether rows with the same features are different instances, of which only those of one group stay together; nil: their losses tell
	CrossFit      int                    `json:"cross_fit" yaml:"cross_fit"`           // up to this many training rows, Folds folds; above, one inner split
	Folds         int                    `json:"folds" yaml:"folds"`                   // and blocks of the one inner split
	Inner         float64                `json:"inner" yaml:"inner"`                   // share of the training rows in the one inner split
	Seeds         int                    `json:"seeds" yaml:"seeds"`                   // networks that are averaged for each that is used
	Seed          uint64                 `json:"seed" yaml:"-"`                        // of the splits and of the first network
	HalfLife      HalfLife               `json:"half_life,omitempty" yaml:"-"`         // age at which a training row counts half; 0: all rows count alike
	Warm          *Warm                  `json:"-" yaml:"-"`                           // an older policy that is a candidate at its lambda; nil: none
	Usage         *policy.UsagePrices    `json:"-" yaml:"-"`                           // of an any-price policy: the prices that measured fees of usage were made at; nil: no fee is made of usage
	Weights       string                 `json:"weights,omitempty" yaml:"weights"`     // how outcomes of a log count in members: WeightsNone or WeightsIPS
	Clip          float64                `json:"clip" yaml:"clip"`                     // largest weight of a logged row, 1/probability, in judging and in WeightsIPS
	Support       int                    `json:"support" yaml:"support"`               // training rows on which a log must have executed a pair, for policies to take it
	Caution       float64                `json:"caution" yaml:"caution"`               // standard errors of its mean loss by which a pair that a log seldom executed must be better
	Deployed      *Deployed              `json:"-" yaml:"-"`                           // what the guard compares with; nil: the best fixed pair
	Rule          string                 `json:"rule" yaml:"rule"`                     // of the guard: policy.RuleBound or policy.RuleGain
	Confidence    float64                `json:"confidence" yaml:"confidence"`         // of the guard's bound, one-sided
	Workers       int                    `json:"workers" yaml:"workers"`               // single-threaded sessions side by side
	Narrow        bool                   `json:"-" yaml:"-"`                           // blocks of few features count as blocks too: each of them tells much
}

// DefaultSettings has members from simple, strongly regularised regressors, which suit small and noisy tables, to
// networks, which suit large tables with sharp boundaries. The guard exports what gains on held-out rows, since without
// structure that is rare and loses little; its bound, at one standard error, is only reported.
func DefaultSettings() Settings {
	wide := []int{128}
	return Settings{
		Ridge: []float64{10, 100, 1000, 10_000, 100_000}, Neighbours: []int{20, 50, 100, 200, 400}, NeighbourRows: 20_000, FileMiB: 64,
		Networks: []regress.Architecture{
			{Hidden: wide, Dropout: 0.5, WeightDecay: 1e-1, LearningRate: 1e-3},
			{Hidden: wide, Dropout: 0.3, WeightDecay: 3e-1, LearningRate: 4e-3},
			{Hidden: wide, Dropout: 0.5, WeightDecay: 3e-1, LearningRate: 1e-2},
			{Hidden: wide, Dropout: 0.2, WeightDecay: 3e-1, LearningRate: 1e-2},
			{Hidden: wide, Dropout: 0, WeightDecay: 1e-1, LearningRate: 1e-2},
			{Hidden: wide, Dropout: 0, WeightDecay: 1e-2, LearningRate: 2e-2},
		},
		Steps: 1500, Margins: []float64{0, 0.002, 0.005},
		CrossFit: 40_000, Folds: 5, Inner: 0.25, Seeds: 3, Weights: WeightsNone, Clip: 100, Support: 10, Caution: 1, Rule: policy.RuleGain, Confidence: 0.84, Workers: runtime.GOMAXPROCS(0),
	}
}

// mostMembers bounds the number of networks that a policy averages.
const mostMembers = 1000

// mostTrees bounds the number of trees of a pair. How many fit also depends on the number of pairs.
const mostTrees = 10_000

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, p := range s.Ridge {
		bad(p > 0 && p <= math.MaxFloat64, "ridge: penalty %g is not a finite positive number", p)
		bad(!slices.Contains(s.Ridge[:i], p), "ridge: penalty %g is a duplicate", p)
	}
	for i, k := range s.Neighbours {
		bad(k > 0, "neighbours: %d, at least 1 is needed", k)
		bad(!slices.Contains(s.Neighbours[:i], k), "neighbours: %d is a duplicate", k)
	}
	bad(s.NeighbourRows > 0, "neighbour_rows: %d, at least 1 is needed", s.NeighbourRows)
	for i, n := range s.Trees {
		bad(n > 0 && n <= mostTrees, "trees: %d, not 1 to %d", n, mostTrees)
		bad(!slices.Contains(s.Trees[:i], n), "trees: %d is a duplicate", n)
	}
	bad(s.FileMiB > 0 && s.FileMiB <= 1024, "file_mib: %d, not 1 to 1024", s.FileMiB)
	for i, c := range s.Networks {
		bad(len(c.Hidden) <= 1, "networks: network %d has %d hidden layers, at most one is possible", i, len(c.Hidden))
		bad(len(c.Hidden) == 0 || c.Hidden[0] > 0, "networks: network %d: hidden layers of %v", i, c.Hidden)
		bad(c.Dropout >= 0 && c.Dropout < 1, "networks: network %d: dropout %g is outside [0, 1)", i, c.Dropout)
		bad(c.WeightDecay >= 0 && c.WeightDecay <= math.MaxFloat64, "networks: network %d: weight_decay %g is not a finite non-negative number", i, c.WeightDecay)
		bad(c.LearningRate > 0 && c.LearningRate <= math.MaxFloat64, "networks: network %d: learning_rate %g is not a finite positive number", i, c.LearningRate)
	}
	bad(s.Steps > 0, "steps: %d, at least 1 is needed", s.Steps)
	bad(len(s.Margins) > 0, "margins: the list is empty")
	for i, m := range s.Margins {
		bad(m >= 0 && m <= 1, "margins: %g, a share in [0, 1] is needed", m)
		bad(i == 0 || m > s.Margins[i-1], "margins: %g does not ascend", m)
	}
	bad(s.HalfLife >= 0, "half_life: %v is negative", time.Duration(s.HalfLife))
	bad(s.Folds >= 2, "folds: %d, at least 2 are needed", s.Folds)
	bad(s.Inner > 0 && s.Inner < 1, "inner: %g, a share in (0, 1) is needed", s.Inner)
	bad(s.Seeds > 0 && s.Seeds <= mostMembers, "seeds: %d, not 1 to %d", s.Seeds, mostMembers)
	bad(s.Weights == WeightsNone || s.Weights == WeightsIPS, "weights: %q, known are %s, %s", s.Weights, WeightsNone, WeightsIPS)
	bad(s.Clip >= 1 && s.Clip <= math.MaxFloat64, "clip: %g, a finite number of at least 1 is needed", s.Clip)
	bad(s.Caution >= 0 && s.Caution <= math.MaxFloat64, "caution: %g is not a finite non-negative number", s.Caution)
	bad(s.Support > 0, "support: %d, at least 1 is needed: of a pair that was never executed nothing can be learned", s.Support)
	bad(s.Rule == policy.RuleBound || s.Rule == policy.RuleGain, "rule: %q, known are %s, %s", s.Rule, policy.RuleBound, policy.RuleGain)
	bad(s.Confidence > 0 && s.Confidence < 1, "confidence: %g, a probability in (0, 1) is needed", s.Confidence)
	bad(s.Workers > 0, "workers: %d, at least 1 is needed", s.Workers)
	return errors.Join(errs...)
}

// Ready reports why valid settings cannot be used for tables with that number of pairs: boosted trees would be too large, or their
// library is not found. It is a *lightgbm.MissingLibraryError or *lightgbm.LoadError then.
func (s Settings) Ready(pairs int) error {
	if len(s.Trees) == 0 {
		return nil
	}
	f := regress.Trees{Rounds: s.Trees}
	if err := f.Check(pairs); err != nil {
		return fmt.Errorf("trees: %w", err)
	}
	if bytes := f.MostBytes(pairs); bytes > s.FileMiB<<20 {
		return fmt.Errorf("trees: %d trees for each of %d pairs take up to %.1f MiB of the policy file, file_mib is %d", slices.Max(s.Trees), pairs, float64(bytes)/(1<<20), s.FileMiB)
	}
	_, err := openTrees(s)
	return err
}

// openTrees is the family of boosted trees.
func openTrees(s Settings) (regress.Trees, error) {
	library, err := lightgbm.Open("")
	if err != nil {
		return regress.Trees{}, fmt.Errorf("trees: %w", err)
	}
	return regress.Trees{Library: library, Rounds: s.Trees, Seed: s.Seed}, nil
}
