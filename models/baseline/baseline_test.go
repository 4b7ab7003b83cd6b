package baseline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/coststest"
)

// syntheticMeans is the benchmark of the paper as known means: rows alternate
// between the two regions. Losses are means without fees.
func syntheticMeans(rows int) *costs.Tensor {
	t := coststest.Tensor(coststest.Actions([]float64{0, 0}, []float64{0, 0.08}))
	t.Fee = nil
	for n := range rows {
		t.IDs = append(t.IDs, string(rune(n)))
		t.Splits = append(t.Splits, costs.Test)
		t.Features = append(t.Features, float32(2*(n%2)-1))
		if n%2 == 0 {
			t.Loss = append(t.Loss, 0.38, 1.00, 0.50, 0.43)
		} else {
			t.Loss = append(t.Loss, 0.55, 0.10, 0.30, 0.82)
		}
	}
	return t
}

// bayesInput has the decisions of optimal policies of both kinds, as input of the baselines.
func bayesInput(rows int) Input {
	in := Input{Tensor: syntheticMeans(rows), Lambda: 1, Seed: 5}
	for n := range rows {
		in.Rows = append(in.Rows, n)
		in.Chosen = append(in.Chosen, n%2) // (0,0) then (0,1)
		in.L2D = append(in.L2D, 2*(n%2))   // (0,0) then (1,0)
		for i := range 4 {
			in.Scores = append(in.Scores, -float32(in.Tensor.Cost(n, i, 1)))
		}
	}
	in.Train = in.Rows
	return in
}

// The population limits of the synthetic table follow from its means. run runs the baseline with the given name.
func run(t rapid.TB, name string, in Input) ([]int, error) {
	t.Helper()
	for _, b := range All() {
		if b.Name == name {
			return b.Run(in)
		}
	}
	t.Fatalf("there is no baseline %q", name)
	return nil, nil
}

func TestBaselinesReachTheirLimits(t *testing.T) {
	in := bayesInput(20000)
	for name, want := range map[string]float64{
		"best_fixed":                   0.40,               // expert 1 without advice
		"best_fixed_train":             0.40,               //
		"learned_expert_random_advice": (0.73 + 0.365) / 2, // expert 0 in both regions
		"l2d_random_advice":            0.665,
		"random_expert_learned_advice": 0.34,
		"random_expert_kept_advice":    0.49,
		"random_expert_no_advice":      0.4325,
		"random_pair":                  0.55,
		"oracle":                       0.28,
		"oracle_no_advice":             0.34,
	} {
		actions, err := run(t, name, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if loss := in.Tensor.TrueLoss(in.Rows, actions, 1); math.Abs(loss-want) > 0.006 {
			t.Errorf("%s: true loss %.4f, limit %.4f", name, loss, want)
		}
	}
}

func TestEveryBaselineIsListedSeededAndAvailable(t *testing.T) {
	in := bayesInput(400)
	in.Tensor.Actions.Unavailable = []costs.Pair{{Expert: 1, Advice: 1}}
	for n := range in.Rows {
		in.Tensor.Loss[n*4+3] = float32(math.NaN())
	}
	for _, b := range All() {
		name := b.Name
		first, err := run(t, name, in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		second, err := run(t, name, in)
		if err != nil || !slices.Equal(first, second) {
			t.Errorf("%s: two runs differ (%v)", name, err)
		}
		if slices.Contains(first, 3) {
			t.Errorf("%s takes a pair that does not exist", name)
		}
		other := in
		other.Seed++
		third, err := run(t, name, other)
		if random := b.Random; err != nil || slices.Equal(first, third) == random {
			t.Errorf("%s: drawn %v, but another seed changes it: %v (%v)", name, random, !random, err)
		}
	}
}

// Raising the cost of an action never makes it chosen.
func TestDearerActionsAreNotChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := coststest.Draw(t, 4)
		in := Input{Tensor: tensor, Rows: []int{0, 1, 2, 3}, Train: []int{0, 1}, Lambda: 1}
		name := rapid.SampledFrom([]string{"oracle", "oracle_no_advice", "best_fixed", "best_fixed_train"}).Draw(t, "name")
		before, err := run(t, name, in)
		if err != nil {
			t.Fatal(err)
		}
		raised := rapid.IntRange(0, tensor.Actions.Len()-1).Draw(t, "raised")
		for n := range in.Rows {
			tensor.Losses(n)[raised] += 0.25
		}
		after, err := run(t, name, in)
		if err != nil {
			t.Fatal(err)
		}
		for n := range before {
			if before[n] != raised && after[n] == raised {
				t.Fatalf("%s: row %d takes action %d once it is dearer", name, n, raised)
			}
		}
	})
}

func TestBaselinesRefuse(t *testing.T) {
	for name, spoil := range map[string]func(in *Input){
		"learned_expert_random_advice": func(in *Input) { in.Chosen = nil },
		"l2d_random_advice":            func(in *Input) { in.L2D = []int{0, 9} },
		"random_expert_learned_advice": func(in *Input) { in.Scores = in.Scores[1:] },
		"random_expert_kept_advice":    func(in *Input) { in.Chosen = in.Chosen[1:] },
		"best_fixed_train":             func(in *Input) { in.Train = nil },
		"oracle_no_advice": func(in *Input) {
			in.Tensor.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 0}, {Expert: 1, Advice: 0}}
		},
	} {
		in := bayesInput(2)
		spoil(&in)
		if _, err := run(t, name, in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
