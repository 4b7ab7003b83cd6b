package models

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pipe/costs"
)

// BaselineInput is what a baseline may look at. Baselines return actions, not
// losses, so that the caller can apply any loss to them: realised costs of a
// tensor, or known means on the synthetic benchmark.
type BaselineInput struct {
	Tensor *costs.Tensor
	Rows   []int // instances of Tensor that are decided on
	Train  []int // instances a deployable baseline may learn from
	Lambda float64

	// Chosen and Scores are the learned policy's actions (one per row of Rows)
	// and scores (len(Rows) x A); L2D holds the l2d policy's actions. Each is
	// needed only by the baselines that take half of their decision from it.
	Chosen []int
	Scores []float32
	L2D    []int

	Seed uint64 // of the draws
}

// Baseline returns one action per entry of in.Rows. Draws are uniform over the
// available pairs that the baseline allows itself and depend only on in.Seed,
// the method and the position in Rows.
type Baseline func(in BaselineInput) ([]int, error)

// baselines lists the methods by name, in the order of reports. knn is not
// among them: it is fitted once for all lambdas, see FitKNN.
var baselines = []struct {
	name string
	run  Baseline
}{
	{"best_fixed", bestFixed},
	{"best_fixed_train", bestFixedTrain},
	{"learned_expert_random_advice", learnedExpertRandomAdvice},
	{"l2d_random_advice", l2dRandomAdvice},
	{"random_expert_learned_advice", randomExpertLearnedAdvice},
	{"random_expert_kept_advice", randomExpertKeptAdvice},
	{"random_expert_no_advice", randomExpertNoAdvice},
	{"random_pair", randomPair},
	{"oracle", oracle},
	{"oracle_no_advice", oracleNoAdvice},
}

// Baselines returns the names that RunBaseline knows, in the order of reports.
func Baselines() []string {
	names := make([]string, len(baselines))
	for i, b := range baselines {
		names[i] = b.name
	}
	return names
}

// RunBaseline runs the named baseline.
func RunBaseline(name string, in BaselineInput) ([]int, error) {
	for _, b := range baselines {
		if b.name == name {
			actions, err := b.run(in)
			if err != nil {
				return nil, fmt.Errorf("baseline %s: %w", name, err)
			}
			return actions, nil
		}
	}
	return nil, fmt.Errorf("unknown baseline %q; known are %s", name, strings.Join(Baselines(), ", "))
}

// draws returns the stream of a method: methods with the same seed must not
// share their draws.
func (in BaselineInput) draws(method string) *rand.Rand {
	return stream(in.Seed, "baseline/"+method, 0)
}

// pairs returns the available actions that keep lists, grouped by group, each
// group ascending.
func (in BaselineInput) pairs(group func(j, k int) int, groups int, keep func(j, k int) bool) [][]int {
	out := make([][]int, groups)
	for i, available := range in.Tensor.Actions.Mask() {
		j, k := in.Tensor.Actions.Pair(i)
		if available && keep(j, k) {
			out[group(j, k)] = append(out[group(j, k)], i)
		}
	}
	return out
}

// needActions checks a slice of one action per row.
func (in BaselineInput) needActions(what string, actions []int) error {
	if len(actions) != len(in.Rows) {
		return fmt.Errorf("needs the actions of %s: got %d for %d rows", what, len(actions), len(in.Rows))
	}
	for n, i := range actions {
		if i < 0 || i >= in.Tensor.Actions.Len() {
			return fmt.Errorf("action %d of %s in row %d does not exist", i, what, n)
		}
	}
	return nil
}

func constant(action, n int) []int { return slices.Repeat([]int{action}, n) }
