package coststest

import (
	"fmt"
	"math/rand/v2"

	"pipe/costs"
)

// Looks is a table on which it pays to look at answers, with three training rows for every validation row. The expert small, with and
// without search, is right on 60% of the rows; its features do not say on which, and its confidence does: it is above 0.5 where it is
// right, on nine rows of ten. The expert large is right on 95%, and costs ten times as much. Every pair also has a label.
func Looks(rows int, seed uint64) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 7))
	t := &costs.Tensor{Dim: 2, Actions: &costs.Actions{
		Experts:  []costs.Expert{{Name: "small", Fee: 0.02}, {Name: "large", Fee: 0.2}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.05}},
		Features: costs.FeatureSource{Name: "two numbers", Dim: 2},
	}}
	sure, label := costs.Facts{Fact: costs.Fact{Name: "confidence"}}, costs.Facts{Fact: costs.Fact{Name: "label", Values: []string{"no", "yes"}}}
	for n := range rows {
		t.IDs = append(t.IDs, fmt.Sprintf("row-%d", n))
		t.Splits = append(t.Splits, map[bool]costs.Split{false: costs.Train, true: costs.Val}[n%4 == 3])
		t.Features = append(t.Features, float32(r.NormFloat64()), float32(r.NormFloat64()))
		truth := float32(r.IntN(2))
		for _, right := range []float64{0.6, 0.6, 0.95, 0.95} {
			loss, says := float32(1), 1-truth
			if r.Float64() < right {
				loss, says = 0, truth
			}
			seen := 0.5 * r.Float32()
			if (loss == 0) == (r.Float64() < 0.9) {
				seen += 0.5
			}
			t.Loss, sure.Data, label.Data = append(t.Loss, loss), append(sure.Data, seen), append(label.Data, says)
		}
	}
	t.Facts = []costs.Facts{sure, label}
	return t
}
