package baseline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/realdata"
	"pipe/onnx/ort/orttest"
)

// realTensor imports one of the outcome tables of the project's configurations. Without the data a test is skipped,
// except in CI.
func realTensor(t *testing.T, config string) *costs.Tensor {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "configs", config))
	if err != nil {
		t.Fatal(err)
	}
	c := outcome.DefaultConfig()
	dec := yaml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(b, []byte("${PIPE_DATA}"), []byte(realdata.Folder(t)))))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	tensor, _, err := outcome.Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

// On tables with structure, neighbours clearly beat the best constant; if a constant is optimal, they stay close to it.
func TestKNNOnRealTables(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures; TestKNNFindsPlantedStructure runs the same code in the short form")
	}
	rt := orttest.Open(t, 0)
	for _, c := range []struct {
		config string
		atMost float64 // true loss on the validation rows at lambda 1
	}{
		{"import-frugalml-ferplus.yaml", 0.20},
		{"import-frugalml-yelp.yaml", 0.10},
		{"import-cifar10.yaml", 0.32},
		{"import-mmlu-pro.yaml", 0.30},
	} {
		t.Run(c.config, func(t *testing.T) {
			tensor := realTensor(t, c.config)
			train, val := tensor.Rows(costs.Train), tensor.Rows(costs.Val)
			start := time.Now()
			k, err := FitKNN(context.Background(), rt, tensor, train, val, DefaultKNNSettings(1))
			if err != nil {
				t.Fatal(err)
			}
			actions, neighbours := k.Decide(1)
			got := tensor.TrueLoss(val, actions, 1)
			t.Logf("%d train, %d val, %d features: %d neighbours, true loss %.4f, best fixed %.4f, %v", len(train), len(val), tensor.Dim,
				neighbours, got, costs.Summarize(tensor, val, 1).BestCost, time.Since(start).Round(time.Millisecond))
			if got > c.atMost {
				t.Errorf("true loss %v, want at most %v", got, c.atMost)
			}
		})
	}
}
