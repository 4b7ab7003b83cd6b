package baseline

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/coststest"
)

// Worked example: advice changes which expert is best.
func TestBayesExample(t *testing.T) {
	a := coststest.Actions([]float64{0, 0, 0}, []float64{0, 0, 0})
	tensor := coststest.Tensor(a, []float32{0.32, 0.41, 0.36, 0.35, 0.27, 0.40, 0.38, 0.33, 0.24})
	for j, want := range []int{0, 1, 2} {
		if got := bestAdvice(tensor, 0, j, 1); got != want {
			t.Errorf("best advice of expert %d is %d, want %d", j, got, want)
		}
	}
	in := Input{Tensor: tensor, Rows: []int{0}, Lambda: 1}
	for name, want := range map[string]struct {
		action int
		loss   float64
	}{"oracle": {8, 0.24}, "oracle_no_advice": {0, 0.32}} {
		actions, err := run(t, name, in)
		if err != nil {
			t.Fatal(err)
		}
		if loss := tensor.TrueLoss(in.Rows, actions, 1); actions[0] != want.action || math.Abs(loss-want.loss) > 1e-7 {
			t.Errorf("%s takes %d at %v, want %d at %v", name, actions[0], loss, want.action, want.loss)
		}
	}
}

// bestAdvice is the smallest-cost advice of an expert, smallest index on ties.
func bestAdvice(t *costs.Tensor, n, j int, lambda float64) int {
	best := 0
	for k := range t.Actions.Advice {
		if t.Cost(n, t.Actions.Index(j, k), lambda) < t.Cost(n, t.Actions.Index(j, best), lambda) {
			best = k
		}
	}
	return best
}

// Some advice is bought for an expert exactly if one reduces its loss by more than the deployed fee; a reduction equal
// to the fee buys nothing.
func TestAdviceIsBoughtExactlyWhenWorthIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := coststest.Draw(t, 1)
		lambda := float64(rapid.IntRange(0, 3).Draw(t, "lambda"))
		for j := range tensor.Actions.Experts {
			worth := false
			for k, v := range tensor.Actions.Advice {
				saved := float64(tensor.Loss[tensor.Actions.Index(j, 0)] - tensor.Loss[tensor.Actions.Index(j, k)])
				worth = worth || saved > lambda*v.Fee
			}
			if bought := bestAdvice(tensor, 0, j, lambda) != 0; bought != worth {
				t.Fatalf("expert %d: bought %v, worth it %v", j, bought, worth)
			}
		}
	})
}

// The oracle with advice is never worse than the one without, and strictly better exactly if advice lowers the best
// cost somewhere.
func TestAdviceDominates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := coststest.Draw(t, 3)
		in := Input{Tensor: tensor, Rows: []int{0, 1, 2}, Lambda: float64(rapid.IntRange(0, 3).Draw(t, "lambda"))}
		with, err := run(t, "oracle", in)
		if err != nil {
			t.Fatal(err)
		}
		without, err := run(t, "oracle_no_advice", in)
		if err != nil {
			t.Fatal(err)
		}
		lower := false
		for n := range in.Rows {
			lower = lower || tensor.Cost(n, with[n], in.Lambda) < tensor.Cost(n, without[n], in.Lambda)
		}
		a, b := tensor.TrueLoss(in.Rows, with, in.Lambda), tensor.TrueLoss(in.Rows, without, in.Lambda)
		if a > b || (a < b) != lower {
			t.Fatalf("with advice %v, without %v, lower somewhere: %v", a, b, lower)
		}
	})
}
