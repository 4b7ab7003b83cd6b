package lightgbm

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Objective is what a training minimises: what the model is for decides it, never its settings.
type Objective uint8

// The objectives.
const (
	Binary     Objective = iota // log-loss of labels 0 and 1
	Regression                  // squared error of any finite labels
)

// objectives are LightGBM's names.
var objectives = [...]string{Binary: "binary", Regression: "regression"}

// String is LightGBM's name of the objective.
func (o Objective) String() string { return objectives[o] }

// Params are the settings of a training. The names in brackets are LightGBM's.
type Params struct {
	Rounds          int     `yaml:"rounds" json:"rounds"`                     // trees, at most (num_iterations)
	Leaves          int     `yaml:"leaves" json:"leaves"`                     // of a tree, at most (num_leaves)
	MinLeaf         int     `yaml:"min_leaf" json:"min_leaf"`                 // rows in a leaf, at least (min_data_in_leaf)
	Bins            int     `yaml:"bins" json:"bins"`                         // bins of a column, at most (max_bin)
	LearningRate    float64 `yaml:"learning_rate" json:"learning_rate"`       // factor on every tree
	L2              float64 `yaml:"l2" json:"l2"`                             // penalty on leaf values (lambda_l2)
	FeatureFraction float64 `yaml:"feature_fraction" json:"feature_fraction"` // columns drawn for a tree
	BaggingFraction float64 `yaml:"bagging_fraction" json:"bagging_fraction"` // rows drawn for a tree
	BaggingFreq     int     `yaml:"bagging_freq" json:"bagging_freq"`         // rounds between two draws of rows; 0: all rows, always
	Seed            uint64  `yaml:"seed" json:"seed"`                         // at most 2147483647
	Threads         int     `yaml:"threads" json:"threads"`                   // affects the last digits of leaf values (num_threads)
}

// DefaultParams are 100 trees of 31 leaves on all columns and rows. The number of threads is always two: each thread
// sums a part of the rows, so a number that depended on the cores would give other models on other machines.
func DefaultParams() Params {
	return Params{
		Rounds: 100, Leaves: 31, MinLeaf: 20, Bins: 255, LearningRate: 0.1,
		FeatureFraction: 1, BaggingFraction: 1, Threads: 2,
	}
}

// wide is the number of columns from which a tree of [DefaultRegressionParams] sees half of them.
const wide = 32

// DefaultRegressionParams are for regression of noisy targets, such as losses of 0 or 1, of rows of dim columns: 100 small trees with
// many rows in each leaf, which learn slowly. 63 bins are fine enough for such targets and take half the time of 255. A
// tree on many columns sees a random half of them, which makes the trees differ and is faster too.
func DefaultRegressionParams(dim int) Params {
	p := DefaultParams()
	p.Leaves, p.MinLeaf, p.Bins, p.LearningRate = 15, 50, 63, 0.05
	if dim >= wide {
		p.FeatureFraction = 0.5
	}
	return p
}

// Validate reports every problem at once.
func (p Params) Validate() error {
	return errors.Join(
		between("rounds", p.Rounds, 1, 100_000),
		between("leaves", p.Leaves, 2, 131_072),
		between("min_leaf", p.MinLeaf, 1, math.MaxInt32),
		between("bins", p.Bins, 2, 65_535),
		within("learning_rate", p.LearningRate, p.LearningRate > 0, "more than 0"),
		within("l2", p.L2, p.L2 >= 0, "0 or more"),
		within("feature_fraction", p.FeatureFraction, p.FeatureFraction > 0 && p.FeatureFraction <= 1, "more than 0, at most 1"),
		within("bagging_fraction", p.BaggingFraction, p.BaggingFraction > 0 && p.BaggingFraction <= 1, "more than 0, at most 1"),
		between("bagging_freq", p.BaggingFreq, 0, math.MaxInt32),
		between("seed", p.Seed, 0, math.MaxInt32),
		between("threads", p.Threads, 1, 1024),
	)
}

// layout is the way in which histograms are filled. Columns one by one suit rows that are few and wide, as those of
// policies are: with 8,000 rows of 384 columns they take two thirds of the time.
func (o Objective) layout() string {
	if o == Regression {
		return "force_col_wise"
	}
	return "force_row_wise"
}

func between[T int | uint64](name string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s is %d: must be from %d to %d", name, v, low, high)
	}
	return nil
}

func within(name string, v float64, ok bool, want string) error {
	if !ok || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %g: must be %s", name, v, want)
	}
	return nil
}

// training are settings with what is minimised.
type training struct {
	Params
	objective Objective
}

// text is the parameter string of LightGBM's C functions. It fixes everything that could make two runs differ: the
// order of sums, the layout of the histograms, every seed, the number of threads.
func (p training) text() string {
	var b strings.Builder
	for _, s := range []struct {
		name  string
		value any
	}{
		{"objective", p.objective},
		{"num_iterations", p.Rounds},
		{"num_leaves", p.Leaves},
		{"min_data_in_leaf", p.MinLeaf},
		{"max_bin", p.Bins},
		{"learning_rate", p.LearningRate},
		{"lambda_l2", p.L2},
		{"feature_fraction", p.FeatureFraction},
		{"bagging_fraction", p.BaggingFraction},
		{"bagging_freq", p.BaggingFreq},
		{"seed", p.Seed},
		{"deterministic", true},
		{p.objective.layout(), true},
		{"num_threads", p.Threads},
		{"verbosity", -1},
	} {
		fmt.Fprintf(&b, "%s=%v ", s.name, s.value)
	}
	return b.String()
}
