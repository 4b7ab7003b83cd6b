package builder

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/kinds"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// mobileNet is one of the networks in models/imagenet, with the accuracies of the centre view that others measured: for
// images whose shorter side becomes size/0.875 (Pillow and onnxruntime in Python), and for those where it becomes size
// (data/README.md).
type mobileNet struct {
	name         string
	size         int
	pillow, data float64
}

var mobileNets = []mobileNet{
	{"v1_025_128", 128, 0.480, 0.488},
	{"v1_050_160", 160, 0.744, 0.700},
	{"v1_075_192", 192, 0.836, 0.800},
	{"v2_100_224", 224, 0.896, 0.896},
}

// imagenetConfig describes the networks. A level shows that number of the first parttest.TenViews. The centre is a share of an image's shorter side,
// corners are 0.875 of it.
func imagenetConfig(t testing.TB, share float64, levels ...int) part.Config {
	t.Helper()
	folder := realdata.Folder(t, "imagenet")
	models := filepath.Join(filepath.Dir(folder), "models", "imagenet")
	cfg := part.DefaultConfig()
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{
		"folder": filepath.Join(folder, "images"), "labels_from": "name", "classes": filepath.Join(folder, "imagenet_class_index.json"),
	}}
	cfg.Split = part.Part{Kind: "random"}
	for k, n := range levels {
		shown := map[string]any{"views": parttest.TenViews()[:n]}
		if n > 2 {
			shown["corners"] = 0.875
		}
		cfg.Advice = append(cfg.Advice, part.AdviceConfig{Name: fmt.Sprint(n), Fee: 0.01 * float64(k), Kind: "views", Settings: shown})
	}
	for _, m := range mobileNets {
		cfg.Experts = append(cfg.Experts, part.ExpertConfig{Name: m.name, Kind: "onnx_image", Settings: map[string]any{
			"model": filepath.Join(models, "mobilenet_"+m.name+".onnx"), "scores": "probabilities",
			"mean": []float64{0.5, 0.5, 0.5}, "std": []float64{0.5, 0.5, 0.5}, "resize": int(math.Round(float64(m.size) / share)),
			"labels_file": filepath.Join(folder, "imagenet_class_index.json"), "labels_before": []string{"background"},
		}})
	}
	cfg.Features = []part.Part{{Kind: "pooled"}}
	cfg.Shard, cfg.Batch = 64, 32
	return cfg
}

// TestMobileNetsOnImageNet holds the accuracies of the centre view against those that others measured, and averages
// over ten views against one view. Only the two small networks, which have a seventh of the work, see ten views.
func TestMobileNetsOnImageNet(t *testing.T) {
	if testing.Short() {
		t.Skip("7,000 forward passes")
	}
	const small = 2
	cfg := imagenetConfig(t, 1, 1, 10)
	for j := small; j < len(cfg.Experts); j++ {
		cfg.Experts[j].Unavailable = []string{"10"}
	}
	right := accuracies(t, cfg)
	for j, m := range mobileNets {
		one, ten := right[m.name+"/1"], right[m.name+"/10"]
		t.Logf("%s: 1 view %.3f (data/README.md: %.3f)", m.name, one, m.data)
		if math.Abs(one-m.data) > 0.02 {
			t.Errorf("%s: accuracy %.3f, want %.3f", m.name, one, m.data)
		}
		if j < small && !(ten >= one) {
			t.Errorf("%s: ten views are worse than one: %.3f, not %.3f", m.name, ten, one)
		}
	}
	cropped := accuracies(t, imagenetConfig(t, 0.875, 1))
	for _, m := range mobileNets {
		got := cropped[m.name+"/1"]
		t.Logf("%s on 0.875 of the shorter side: %.3f (Pillow: %.3f)", m.name, got, m.pillow)
		if math.Abs(got-m.pillow) > 0.02 {
			t.Errorf("%s: accuracy %.3f, want %.3f", m.name, got, m.pillow)
		}
	}
}

// accuracies builds a tensor and returns the accuracy of every action by its name.
func accuracies(t *testing.T, cfg part.Config) map[string]float64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "imagenet.parquet")
	r, err := Run(context.Background(), cfg, Options{Kinds: kinds.Builtin(), Out: storage.File(out), Runtime: openRuntime(t)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images in %.1f s, decoded by %s", r.Instances, r.Seconds, got.Actions.Digests["decoder"])
	right := make(map[string]float64)
	names := got.Actions.Names()
	for n := range got.Len() {
		for i, loss := range got.Losses(n) {
			right[names[i]] += float64(1-loss) / float64(got.Len())
		}
	}
	return right
}
