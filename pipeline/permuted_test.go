package pipeline_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
)

// permutationsVariable sets the number of permutations, which is small by default: PIPE_PERMUTATIONS=100.
const permutationsVariable = "PIPE_PERMUTATIONS"

// permuteLosses gives every row of t the losses, fees, label and answers of another row of its split, so that features
// have no information about them.
func permuteLosses(t *costs.Tensor, seed uint64) *costs.Tensor {
	from := make([]int, t.Len())
	r := rand.New(rand.NewPCG(seed, 0x7065726d))
	for _, split := range []costs.Split{costs.Train, costs.Val, costs.Test} {
		rows := t.Rows(split)
		for i, j := range r.Perm(len(rows)) {
			from[rows[i]] = rows[j]
		}
	}
	other, out := t.Subset(from), *t
	out.Loss, out.Fee, out.Labels, out.Predictions = other.Loss, other.Fee, other.Labels, other.Predictions
	return &out
}

// TestPermutedLossesEndOnTheConstant: without information in the features the exported policy is the constant, except
// for the 5% that the guard's level allows; those lose little.
func TestPermutedLossesEndOnTheConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("six searches")
	}
	permutations := 6
	if v := os.Getenv(permutationsVariable); v != "" {
		var err error
		if permutations, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	rt := orttest.Open(t, 1)
	s := auto.DefaultSettings()
	s.Networks, s.Steps, s.Seeds = s.Networks[2:3], 200, 2
	configs := []string{"import-cifar10.yaml", "import-frugalml-ferplus.yaml", "import-frugalml-yelp.yaml"}
	exported, lost := 0, 0.0
	for c, config := range configs {
		table := realTable(t, config)
		for p := c; p < permutations; p += len(configs) {
			s.Seed = uint64(p)
			tensor := permuteLosses(table, uint64(p))
			policies, reports, err := auto.Train(context.Background(), tensor, []float64{1}, s, models.Options{Runtime: rt})
			if err != nil {
				t.Fatal(err)
			}
			if reports[0].Guard.Fallback {
				continue // the exported policy is the constant
			}
			exported++
			rows := tensor.Rows(costs.Val)
			l, err := replay.Decide(context.Background(), rt, policies[0], tensor, rows)
			if err != nil {
				t.Fatal(err)
			}
			best := costs.Summarize(tensor, tensor.Rows(costs.Train), 1).Best
			loss := tensor.TrueLoss(rows, l.Action, 1) - tensor.TrueLoss(rows, slices.Repeat([]int{best}, len(rows)), 1)
			t.Logf("%s, permutation %d: a policy is exported that loses %.4f, guard %+v", config, p, loss, reports[0].Guard)
			lost += loss
		}
	}
	mean := lost / float64(permutations)
	t.Logf("%d of %d permutations export a policy; the mean loss to the constant is %.5f", exported, permutations, mean)
	if allowed := max(2, permutations/10); exported > allowed || mean > 0.002 {
		t.Errorf("%d of %d permutations export a policy, at most %d may; the mean loss is %.5f, at most 0.002", exported, permutations, allowed, mean)
	}
}
