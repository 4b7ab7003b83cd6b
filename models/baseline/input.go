package baseline

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"pipe/costs"
	"pipe/internal/seeded"
)

// Input is the data that a rule may use. Rules return actions, not losses, so that the caller can apply any loss to
// them: the costs in a tensor, or expected losses if these are known.
type Input struct {
	Tensor *costs.Tensor
	Rows   []int   // rows of Tensor that are decided on
	Train  []int   // rows that a rule may learn from
	Lambda float64 // multiplier of the advice fees

	// Decisions of learned policies, for rules that take a half of their decision from one.
	Chosen []int     // actions of a composite policy, one per entry of Rows
	Scores []float32 // its scores, len(Rows) x J(K+1)
	L2D    []int     // actions of the l2d policy, one per entry of Rows

	Seed uint64 // of the draws
}

// ErrNoPair is wrapped if a rule has no pair to choose, such as a rule without advice when every expert needs some.
var ErrNoPair = errors.New("no available pair fits")

// draws returns the stream of a method: methods with the same seed must not
// share their draws.
func (in Input) draws(method string) *rand.Rand {
	return seeded.Stream(in.Seed, "baseline/"+method, 0)
}

// pairs returns the available actions for which keep is true, grouped by group, each group ascending.
func (in Input) pairs(group func(j, k int) int, groups int, keep func(j, k int) bool) [][]int {
	out := make([][]int, groups)
	for i, available := range in.Tensor.Actions.Mask() {
		j, k := in.Tensor.Actions.Pair(i)
		if available && keep(j, k) {
			out[group(j, k)] = append(out[group(j, k)], i)
		}
	}
	return out
}

// needActions checks that there is one existing action per row.
func (in Input) needActions(what string, actions []int) error {
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
