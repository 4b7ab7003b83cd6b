package baseline

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"pipe/costs"
	"pipe/internal/seeded"
)

// Input is what a baseline may look at. Baselines return actions, not
// losses, so that the caller can apply any loss to them: realised costs of a
// tensor, or known means on the synthetic benchmark.
type Input struct {
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

// ErrNoPair is wrapped where a baseline has no pair to choose, such as an expert without advice.
var ErrNoPair = errors.New("no available pair fits")

// draws returns the stream of a method: methods with the same seed must not
// share their draws.
func (in Input) draws(method string) *rand.Rand {
	return seeded.Stream(in.Seed, "baseline/"+method, 0)
}

// pairs returns the available actions that keep lists, grouped by group, each
// group ascending.
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

// needActions checks a slice of one action per row.
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
