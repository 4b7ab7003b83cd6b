package auto

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// tiesVariable is the number of draws of each law, from 200 for a verdict; without it there are a few, for the code.
const tiesVariable = "PIPE_TIES_DRAWS"

// tiesLaw runs a law over draws, and reports those that break it. In 95% of them it must hold.
func tiesLaw(t *testing.T, few int, holds func(t *testing.T, seed uint64) (ok bool, what string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("searches of seconds each")
	}
	draws, err := strconv.Atoi(os.Getenv(tiesVariable))
	if err != nil {
		draws = few
	}
	broken := 0
	for seed := range uint64(draws) {
		begun := time.Now()
		ok, what := holds(t, seed)
		if !ok {
			broken++
		}
		t.Logf("draw %d: %s (%.1f s); %d broken", seed, what, time.Since(begun).Seconds(), broken)
	}
	if 20*broken > draws {
		t.Errorf("%d of %d draws break the law", broken, draws)
	}
}

// copied repeats every row of a table some times.
func copied(t *costs.Tensor, times func() int) *costs.Tensor {
	var rows []int
	for n := range t.Len() {
		for range times() {
			rows = append(rows, n)
		}
	}
	out := t.Subset(rows)
	for n := range out.IDs {
		out.IDs[n] = fmt.Sprint(n)
	}
	return out
}

// TestCopiesOfNoiseLoseNothing: of a table without structure whose rows are each there 2 to 20 times, the constant is
// exported, or a policy that loses at most 0.002 to it.
func TestCopiesOfNoiseLoseNothing(t *testing.T) {
	tiesLaw(t, 3, func(t *testing.T, seed uint64) (bool, string) {
		r := rand.New(rand.NewPCG(seed, 2))
		same := 2 + r.IntN(19)
		train := copied(noise(50+r.IntN(250), 1000+seed), func() int {
			if seed%2 == 0 {
				return same
			}
			return 2 + r.IntN(19)
		})
		policies, reports, err := Train(context.Background(), train, []float64{1}, DefaultSettings(), models.Options{Runtime: orttest.Open(t, 0)})
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d rows, %d sets", train.Len(), reports[0].Clusters)
		if policies[0].Decoder == policy.DecoderFixed {
			return true, what + ": the constant"
		}
		own, _ := flat.risk(t, policies[0])
		fixed := flatLoss(reports[0].Guard.Fixed)
		return own <= fixed+0.002, fmt.Sprintf("%s: %.4f, the constant %.4f", what, own, fixed)
	})
}

// flatLoss is the expected cost of always taking a pair, under the law without structure.
func flatLoss(pair string) float64 {
	for i, cost := range addFees(flat.mean(nil)) {
		if flat.actions.Name(i) == pair {
			return cost
		}
	}
	return math.NaN()
}

// TestTiesAreLearned: where 20,000 rows have few distinct features, which say who is the best expert, the learned policy is
// exported, and costs at most 0.003 more than always asking the best expert.
func TestTiesAreLearned(t *testing.T) {
	for _, vectors := range []int{5, 50, 500} {
		t.Run(fmt.Sprint(vectors), func(t *testing.T) {
			tiesLaw(t, 1, func(t *testing.T, seed uint64) (bool, string) {
				cells := drawCells(vectors, seed)
				policies, reports, err := Train(t.Context(), cells.table(20_000, seed), []float64{1}, DefaultSettings(), models.Options{Runtime: orttest.Open(t, 0)})
				if err != nil {
					t.Fatal(err)
				}
				own, optimum := cells.loss(t, policies[0])
				return !reports[0].Guard.Fallback && own <= optimum+0.003, fmt.Sprintf("%.4f, the optimum %.4f", own, optimum)
			})
		})
	}
}
