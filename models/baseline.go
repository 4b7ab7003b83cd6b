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

// Baseline is a method that is not trained: a rule for choosing actions and
// what it looks at. knn is not among them: it is fitted once for all lambdas,
// see FitKNN.
type Baseline struct {
	Name   string
	Random bool // drawn: the result depends on the seed
	// What of a BaselineInput it needs besides Tensor, Rows and Lambda.
	NeedsTrain, NeedsChosen, NeedsL2D bool
	// Extra marks a second reading of another baseline, for the benchmark that
	// compares readings.
	Extra bool

	run func(in BaselineInput) ([]int, error)
}

// Run returns one action per entry of in.Rows. Draws are uniform over the
// available pairs that the baseline allows itself and depend only on in.Seed,
// the method and the position in Rows.
func (b Baseline) Run(in BaselineInput) ([]int, error) {
	actions, err := b.run(in)
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", b.Name, err)
	}
	return actions, nil
}

// Constant says whether the baseline plays one pair everywhere.
func (b Baseline) Constant() bool { return strings.HasPrefix(b.Name, "best_fixed") }

// Baselines returns all of them, in the order of reports.
func Baselines() []Baseline {
	return []Baseline{
		{Name: "best_fixed", run: bestFixed},
		{Name: "best_fixed_train", NeedsTrain: true, run: bestFixedTrain},
		{Name: "learned_expert_random_advice", Random: true, NeedsChosen: true, run: learnedExpertRandomAdvice},
		{Name: "l2d_random_advice", Random: true, NeedsL2D: true, run: l2dRandomAdvice},
		{Name: "random_expert_learned_advice", Random: true, NeedsChosen: true, run: randomExpertLearnedAdvice},
		{Name: "random_expert_kept_advice", Random: true, NeedsChosen: true, Extra: true, run: randomExpertKeptAdvice},
		{Name: "random_expert_no_advice", Random: true, run: randomExpertNoAdvice},
		{Name: "random_pair", Random: true, run: randomPair},
		{Name: "oracle", run: oracle},
		{Name: "oracle_no_advice", run: oracleNoAdvice},
	}
}

// RunBaseline runs the named baseline.
func RunBaseline(name string, in BaselineInput) ([]int, error) {
	var known []string
	for _, b := range Baselines() {
		if b.Name == name {
			return b.Run(in)
		}
		known = append(known, b.Name)
	}
	return nil, fmt.Errorf("unknown baseline %q; known are %s", name, strings.Join(known, ", "))
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
