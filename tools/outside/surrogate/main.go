// Surrogate trains with a training loss that pipe does not have: the expected cost under the softmax of the scores.
package main

import (
	"context"
	"log"
	"os"

	"pipe/location"
	"pipe/models"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

type expectedCost struct{}

func (expectedCost) Name() string            { return "expected_cost" }
func (expectedCost) Masks() bool             { return false }
func (expectedCost) Decoder() policy.Decoder { return policy.DecoderComposite }

func (expectedCost) Outputs(experts, advice int) (int, error) { return experts * advice, nil }

func (expectedCost) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	return g.Mul(g.Mul(g.Softmax(b.Scores, 1), b.Costs(g)), b.Coef)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: surrogate TENSOR OUT")
	}
	o := train.DefaultOptions()
	o.Tensor, o.Out, o.Recipe, o.Seeds, o.Network.Epochs = location.File(os.Args[1]), location.File(os.Args[2]), paper.Name, 1, 5
	o.Methods, o.Own = []string{"mine"}, []models.Method{{Name: "mine", Surrogate: expectedCost{}, About: "the expected cost itself"}}
	r, err := train.Run(context.Background(), o, stage.Quiet)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
}
