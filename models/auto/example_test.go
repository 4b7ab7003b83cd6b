package auto_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

func TestMain(m *testing.M) { orttest.Main(m) }

// Train needs a table and the prices of advice. The guard decides whether the learned policy is better than the best
// fixed pair.
func ExampleTrain() {
	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	t := &costs.Tensor{Dim: 1, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}},
		Advice:  []costs.Advice{{Name: "none"}},
	}}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		x, loss := -1+0.2*float32(r.NormFloat64()), []float32{0, 0}
		if n%2 == 0 { // hard: the small expert is wrong
			x, loss[0] = x+2, 1
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Train)
		t.Features, t.Loss = append(t.Features, x), append(t.Loss, loss...)
	}
	s := auto.DefaultSettings()
	s.Networks = nil // they take longer
	policies, reports, err := auto.Train(context.Background(), t, []float64{0}, s, models.Options{Runtime: rt})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range []float32{-1, 1} {
		action, err := policies[0].Decide([]float32{x})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(x, t.Actions.Name(action))
	}
	g := reports[0].Guard
	fmt.Printf("always %s costs %.1f, the policy %.1f; fallback: %t\n", g.Fixed, g.FixedLoss, g.Learned, g.Fallback)
	// Output:
	// -1 small/none
	// 1 large/none
	// always large/none costs 0.2, the policy 0.1; fallback: false
}
