package monitor_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/monitor"
)

// A service adds rows as it decides them, and outcomes when they come. Here all outcomes are bad.
func ExampleMonitor() {
	folder, remove := files()
	defer remove()
	ctx := context.Background()
	m, err := monitor.Open(ctx, storage.File(filepath.Join(folder, "policy.onnx")), storage.File(filepath.Join(folder, "costs.parquet")), monitor.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	features := []float32{0.5, -1}
	for n := 1; !m.Risen(); n++ {
		d, err := m.Decide(ctx, features, 1)
		if err != nil {
			log.Fatal(err)
		}
		pair := int(d.Action[0])
		bad := monitor.Outcome{Decided: pair, Executed: pair, Loss: 1, Expected: math.NaN(), Time: monitor.NoTime}
		if err := m.Add(features, []int{pair}, []monitor.Outcome{bad}); err != nil {
			log.Fatal(err)
		}
	}
	s := m.Status()
	fmt.Println(s.Outcomes.Verdict, "at outcome", s.Outcomes.Alarm.Risen)
	fmt.Printf("level %.3f\n", s.Outcomes.Alarm.Level)
	// Output:
	// alarm at outcome 6
	// level 0.284
}

// files puts a policy with random weights and a baseline of 400 rows into a folder. One outcome in five is bad.
func files() (folder string, remove func()) {
	folder, err := os.MkdirTemp("", "monitor")
	if err != nil {
		log.Fatal(err)
	}
	if err := decidetest.WriteEncoderPolicy(filepath.Join(folder, "policy.onnx"), 2, costs.FeatureSource{}, ""); err != nil {
		log.Fatal(err)
	}
	t := &costs.Tensor{Dim: 2, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search"}},
	}}
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		bad := float32(n % 5 / 4)
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Val)
		t.Features = append(t.Features, float32(random.NormFloat64()), float32(random.NormFloat64()))
		t.Loss = append(t.Loss, bad, bad, bad, bad)
	}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(folder, "costs.parquet")), t); err != nil {
		log.Fatal(err)
	}
	return folder, func() { os.RemoveAll(folder) }
}
