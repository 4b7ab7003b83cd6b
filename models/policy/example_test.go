package policy_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

func TestMain(m *testing.M) { orttest.Main(m) }

// A policy file is opened once and can then be used from any goroutine. Here the file is written first: one layer that
// prefers the large expert if the feature is high.
func Example() {
	p := &policy.Policy{
		Actions: &costs.Actions{
			Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}},
			Advice:  []costs.Advice{{Name: "none"}},
		},
		Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{{Out: 2, In: 1, W: []float32{-1, 1}, B: []float32{0, 0}}}}},
	}
	m, err := p.Export()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ours.onnx")
	if err := m.WriteFile(path); err != nil {
		log.Fatal(err)
	}

	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	d, err := policy.Open(rt, path)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	scores := make([]float32, d.Info().Actions.Len())
	for _, x := range []float32{-2, 2} {
		action, err := d.DecideOne(context.Background(), scores, []float32{x})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%g: %s, log-probabilities %.2f\n", x, d.Info().Actions.Name(action), scores)
	}
	// Output:
	// -2: small/none, log-probabilities [-0.02 -4.02]
	// 2: large/none, log-probabilities [-4.02 -0.02]
}
