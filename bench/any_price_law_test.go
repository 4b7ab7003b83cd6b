package bench

import (
	"math"
	"testing"

	"pipe/costs"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
)

// TestAnyPriceOfAKnownLaw: on the synthetic law, one any-price policy is near the optimum of every lambda.
func TestAnyPriceOfAKnownLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on 5,000 rows")
	}
	rt := orttest.Open(t, 0)
	train, test := world.SyntheticTensor(5000, costs.Train, 1, true), world.SyntheticTensor(20_000, costs.Test, 2, false)
	p, r, err := auto.TrainAnyPrice(t.Context(), train, policy.DefaultPriceRange(), auto.DefaultSettings(), models.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	if r.Guard.Fallback {
		t.Fatalf("the guard fell back: %+v", r.Guard)
	}
	rows := test.Rows(costs.Test)
	for _, lambda := range []float64{0, 0.5, 1, 2} {
		l, err := replay.Decide(t.Context(), rt, p.At(lambda), test, rows)
		if err != nil {
			t.Fatal(err)
		}
		bayes := 0.0
		var c []float64
		for _, n := range rows {
			best := math.Inf(1)
			c = test.Costs(c, n, lambda)
			for _, v := range c {
				best = min(best, v)
			}
			bayes += best / float64(len(rows))
		}
		excess := test.TrueLoss(rows, l.Action, lambda) - bayes
		t.Logf("lambda %g: %.4f above the optimum %.4f", lambda, excess, bayes)
		if excess > 0.005 {
			t.Errorf("lambda %g: %.4f above the optimum %.4f", lambda, excess, bayes)
		}
	}
	for _, m := range r.Members {
		t.Logf("%-70s %.4f %.3f", m.Name, m.Loss, m.Weight)
	}
	t.Logf("margin %g", r.Margin)
}
