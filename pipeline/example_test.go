package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/eval"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

func TestMain(m *testing.M) { orttest.Main(m) }

// hardAndEasy has two experts and one feature, which indicates whether a row is hard: the small expert is then wrong.
func hardAndEasy() *costs.Tensor {
	t := &costs.Tensor{Dim: 1, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}},
		Advice:  []costs.Advice{{Name: "none"}},
	}}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		x, loss, split := -1+0.2*float32(r.NormFloat64()), []float32{0, 0}, costs.Train
		if n%2 == 0 {
			x, loss[0] = x+2, 1
		}
		if n%4 < 2 {
			split = costs.Val
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, split)
		t.Features, t.Loss = append(t.Features, x), append(t.Loss, loss...)
	}
	return t
}

// The shortest way from a file with a cost tensor to a report: pipe train and
// pipe eval.
func Example_file() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	table := filepath.Join(dir, "costs.parquet")
	if err := costs.Write(context.Background(), storage.File(table), hardAndEasy()); err != nil {
		log.Fatal(err)
	}

	t := train.DefaultOptions()
	t.Tensor, t.Out = storage.File(table), storage.File(filepath.Join(dir, "policies"))
	t.Recipe, t.Seeds, t.Network.Epochs, t.LearningRate = paper.Name, 2, 40, 0.01
	if _, err := train.Run(context.Background(), t, stage.Quiet); err != nil {
		log.Fatal(err)
	}
	e := eval.DefaultOptions()
	e.Tensor, e.Policies = storage.File(table), []storage.Location{t.Out}
	report, err := eval.Run(context.Background(), e, stage.Quiet)
	if err != nil {
		log.Fatal(err)
	}
	printLosses(report, models.Ours, "best_fixed_train", "oracle")
	// Output:
	// ours 0.10, 2 seeds
	// best_fixed_train 0.20, 1 seeds
	// oracle 0.10, 1 seeds
}

// expectedCost is a training loss of another module, see models/paper.
type expectedCost struct{}

func (expectedCost) Name() string            { return "expected_cost" }
func (expectedCost) Masks() bool             { return false }
func (expectedCost) Decoder() policy.Decoder { return policy.DecoderComposite }

func (expectedCost) Outputs(experts, advice int) (int, error) { return experts * advice, nil }

func (expectedCost) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	return g.Mul(g.Mul(g.Softmax(b.Scores, 1), b.Costs(g)), b.Coef)
}

// The same in memory, with a custom training loss beside the paper's.
func Example_inMemory() {
	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	t, own := hardAndEasy(), []models.Method{{Name: "mine", Surrogate: expectedCost{}, About: "the expected cost itself"}}
	c, o := train.DefaultSettings(), eval.DefaultOptions()
	c.Recipe, c.Methods, c.Own, o.Own = paper.Name, []string{"mine"}, own, own
	c.Seeds, c.Network.Epochs, c.LearningRate = 2, 40, 0.01
	policies, _, err := train.Policies(context.Background(), rt, t, c, models.CheckpointPolicy{}, stage.Quiet)
	if err != nil {
		log.Fatal(err)
	}
	report, err := eval.Policies(context.Background(), rt, t, policies, o, stage.Quiet)
	if err != nil {
		log.Fatal(err)
	}
	printLosses(report, models.Ours, "mine", "best_fixed_train")
	fmt.Println("mine:", report.Captions["mine"])
	// Output:
	// ours 0.10, 2 seeds
	// mine 0.10, 2 seeds
	// best_fixed_train 0.20, 1 seeds
	// mine: the expected cost itself
}

func printLosses(r *report.Report, methods ...string) {
	for _, name := range methods {
		for _, row := range r.Rows {
			if row.Method == name {
				fmt.Printf("%s %.2f, %d seeds\n", name, row.TrueLossMean, row.Seeds)
			}
		}
	}
}
