package builder

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// cifarConfig is configs/cifar10-small.yaml in Go; perLabel limits the images.
func cifarConfig(data string, perLabel int) part.Config {
	cfg := part.DefaultConfig()
	cfg.Split.Kind = costs.SplitStratified
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{
		"folder": filepath.Join(data, "cifar10", "images"), "per_label": perLabel,
	}}
	cfg.Advice = []part.AdviceConfig{
		{Name: "one-view", Kind: "views", Settings: map[string]any{"views": []string{"centre"}}},
		{Name: "flip", Fee: 0.01, Kind: "views", Settings: map[string]any{"views": []string{"centre", "mirror"}}},
		{Name: "six-views", Fee: 0.05, Kind: "views", Settings: map[string]any{
			"views": []string{"centre", "mirror", "left", "right", "up", "down"}, "pixels": 2,
		}},
	}
	first := map[string]any{"mean": []float64{0.485, 0.456, 0.406}, "std": []float64{0.225, 0.225, 0.225}}
	second := map[string]any{"mean": []float64{0.4914, 0.4822, 0.4465}, "std": []float64{0.2471, 0.2435, 0.2616}}
	for _, e := range []struct {
		name, file string
		fee        float64
		norm       map[string]any
	}{
		{"vit", "vit_pgd_2_3_16.onnx", 0, first},
		{"wide", "cifar_wide_kw.onnx", 0.01, first},
		{"resnet2b", "resnet_2b.onnx", 0.02, second},
		{"resnet4b", "resnet_4b.onnx", 0.05, second},
	} {
		cfg.Experts = append(cfg.Experts, part.ExpertConfig{Name: e.name, Fee: e.fee, Kind: "onnx_image", Settings: map[string]any{
			"model": filepath.Join(data, "models", "cifar10", e.file), "mean": e.norm["mean"], "std": e.norm["std"],
		}})
	}
	cfg.Features = []part.Part{
		{Kind: "pooled", Settings: map[string]any{"grid": 4}},
		{Kind: "expert", Settings: map[string]any{"expert": "vit"}},
	}
	return cfg
}

// openRuntime lends a build the runtime of the test.
func openRuntime(t testing.TB) func() (*ort.Runtime, error) {
	t.Helper()
	rt := orttest.Open(t, 0)
	return func() (*ort.Runtime, error) { return rt, nil }
}

// TestCIFARAgreesWithReference compares the whole build with outcomes that
// another decoder and another runtime language produced.
func TestCIFARAgreesWithReference(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures of 2,000 images; other tests run the same code in the short form")
	}
	data := filepath.Dir(realdata.Folder(t, "cifar10"))
	out := filepath.Join(t.TempDir(), "cifar.parquet")
	r, err := Run(context.Background(), cifarConfig(data, 0), Options{Kinds: kinds.Builtin(), Out: storage.File(out), Runtime: openRuntime(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instances in %.1f s", r.Instances, r.Seconds)
	got, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Instances != 2000 || r.Val != 500 || got.Len() != 2000 {
		t.Fatalf("report %+v, tensor of %d rows", r, got.Len())
	}
	folder := filepath.Join(data, "outcomes", "cifar10-four-networks")
	compareLosses(t, got, filepath.Join(folder, "outcomes.csv.gz"))
	compareFeatures(t, got, filepath.Join(folder, "features.csv.gz"))
}

func compareLosses(t *testing.T, got *costs.Tensor, file string) {
	rows := readReference(t, file)
	want := make(map[[2]string]string, len(rows))
	for _, row := range rows {
		want[[2]string{row[0], row[1] + "/" + row[2]}] = row[3]
	}
	equal := 0
	for i, name := range got.Actions.Names() {
		same, wrong := 0, 0
		for n, id := range got.IDs {
			loss := got.Losses(n)[i]
			if strconv.Itoa(int(loss)) == want[[2]string{id, name}] {
				same++
			}
			wrong += int(loss)
		}
		t.Logf("%-20s accuracy %.4f, %.4f of the cells agree", name, 1-float64(wrong)/2000, float64(same)/2000)
		equal += same
	}
	share := float64(equal) / float64(len(got.Loss))
	t.Logf("all: %.4f of %d cells agree", share, len(got.Loss))
	if len(want) != len(got.Loss) || share < 0.97 {
		t.Errorf("%d reference cells for %d, %.4f agree, want 0.97", len(want), len(got.Loss), share)
	}
}

func compareFeatures(t *testing.T, got *costs.Tensor, file string) {
	row := make(map[string]int)
	for n, id := range got.IDs {
		row[id] = n
	}
	var pooled, probability float64
	for _, want := range readReference(t, file) {
		for i, v := range got.Row(row[want[0]]) {
			w, err := strconv.ParseFloat(want[2+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(float64(v) - w); i < 48 {
				pooled += d / 48 / 2000
			} else {
				probability += d / 10 / 2000
			}
		}
	}
	t.Logf("mean absolute difference: pooled pixels %.5f, probabilities %.5f", pooled, probability)
	if pooled > 0.002 || probability > 0.01 {
		t.Errorf("features differ: pooled pixels by %.5f, probabilities by %.5f on average", pooled, probability)
	}
}

// readReference returns the records of a gzipped CSV file without its header.
func readReference(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// TestKilledCIFARBuildsResumeToTheSameBytes kills builds that run the networks
// on some of the images; tools/kill9.sh does it to the program on all of them.
func TestKilledCIFARBuildsResumeToTheSameBytes(t *testing.T) {
	data := filepath.Dir(realdata.Folder(t, "cifar10"))
	openRuntime(t)
	cfg := cifarConfig(data, 24)
	cfg.Shard = 16
	killRepeatedly(t, child{Config: cfg}, 20)
}
