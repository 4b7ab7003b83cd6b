package auto

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/models"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// embedded is a table like those of text embeddings: normal features of which a few decide between four experts with two
// levels of advice.
func embedded(rows, dim int) *costs.Tensor {
	rng := rand.New(rand.NewPCG(1, uint64(rows)))
	t := &costs.Tensor{Dim: dim, Features: coststest.Floats(rng, rows*dim), Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b", Fee: 0.05}, {Name: "c", Fee: 0.1}, {Name: "d", Fee: 0.2}},
		Advice:  []costs.Advice{{Name: "none"}, {Name: "docs", Fee: 0.05}},
	}}
	for n := range rows {
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Train)
		for i := range t.Actions.Len() {
			loss := float32(0)
			if rng.Float64() < 0.3+0.2*min(1, max(-1, float64(t.Row(n)[i%4]))) {
				loss = 1
			}
			t.Loss = append(t.Loss, loss)
		}
	}
	return t
}

// BenchmarkTrees has the time of boosted trees alone, with the five folds and the fit on all rows.
func BenchmarkTrees(b *testing.B) {
	lightgbmtest.Open(b)
	t := embedded(20_000, 384)
	s := DefaultSettings()
	s.Ridge, s.Neighbours, s.Networks, s.Trees, s.Rule = nil, nil, nil, []int{30, 100}, policy.RuleGain
	o := models.Options{Runtime: orttest.Open(b, 0)}
	b.Run("rows=20000/dim=384/pairs=8", func(b *testing.B) {
		for b.Loop() {
			_, r, err := Train(context.Background(), t, []float64{1}, s, o)
			if err != nil || r[0].Guard.Fallback {
				b.Fatal(err, r)
			}
		}
	})
}

// BenchmarkTrain has the time of the whole recipe.
func BenchmarkTrain(b *testing.B) {
	for _, rows := range []int{1000, 20_000} {
		t := embedded(rows, 384)
		o := models.Options{Runtime: orttest.Open(b, 0)}
		b.Run(fmt.Sprintf("rows=%d/dim=384/lambdas=3", rows), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Train(context.Background(), t, []float64{0, 1, 2}, DefaultSettings(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/dim=384/any_price", rows), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := TrainAnyPrice(context.Background(), t, policy.DefaultPriceRange(), DefaultSettings(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
