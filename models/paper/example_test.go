package paper_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"pipe/costs"
	"pipe/models"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// expectedCost is a training loss that models does not have: the expected cost under the softmax of the scores, sum_i
// p_i c_i.
type expectedCost struct{}

func (expectedCost) Name() string            { return "expected_cost" }
func (expectedCost) Masks() bool             { return false }
func (expectedCost) Decoder() policy.Decoder { return policy.DecoderComposite }

func (expectedCost) Outputs(experts, advice int) (int, error) { return experts * advice, nil }

func (expectedCost) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	paid := g.Mul(g.Softmax(b.Scores, 1), b.Costs(g))
	return g.Mul(paid, b.Coef)
}

// twoExperts has an expert for each sign of the only feature, and advice that costs 0.1 and helps only expert b.
func twoExperts(rows int) *costs.Tensor {
	t := &costs.Tensor{Dim: 1, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}},
		Advice:  []costs.Advice{{Name: "none"}, {Name: "hint", Fee: 0.1}},
	}}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range rows {
		x := float32(r.NormFloat64())
		split, loss := costs.Train, []float32{0, 0, 1, 1} // a/none a/hint b/none b/hint
		if x > 0 {
			loss = []float32{1, 1, 0.5, 0}
		}
		if n%4 == 0 {
			split = costs.Val
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, split)
		t.Features, t.Loss = append(t.Features, x), append(t.Loss, loss...)
	}
	return t
}

// A custom training loss is a type with five methods. It trains like those of the package: here for two prices of
// advice, on a table in memory.
func ExampleTrain() {
	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	t := twoExperts(2000)
	mine := models.Method{Name: "mine", Surrogate: expectedCost{}}
	s := paper.DefaultSettings()
	s.Seeds, s.LearningRate, s.Network.Epochs = 1, 0.01, 10
	policies, err := paper.Train(context.Background(), t, mine, []float64{1, 10}, s, models.Options{Runtime: rt})
	if err != nil {
		log.Fatal(err)
	}
	rows := t.Rows(costs.Val)
	for _, p := range policies {
		decide := func(x []float32) int {
			action, err := p.Decide(x)
			if err != nil {
				log.Fatal(err)
			}
			return action
		}
		actions := make([]int, len(rows))
		for i, n := range rows {
			actions[i] = decide(t.Row(n))
		}
		fmt.Printf("lambda %g: %s below zero, %s above, true loss %.1f\n", p.Lambda,
			t.Actions.Name(decide([]float32{-1})), t.Actions.Name(decide([]float32{1})), t.TrueLoss(rows, actions, p.Lambda))
	}
	// Output:
	// lambda 1: a/none below zero, b/hint above, true loss 0.1
	// lambda 10: a/none below zero, b/none above, true loss 0.3
}
