package builder

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/realdata"
	"pipe/onnx/hf/hftest"
)

// TestImageFeatures holds the vectors of a linear encoder against sums over the pixels that it is shown, and the
// tensor against the encoder that made it.
func TestImageFeatures(t *testing.T) {
	w := sizesWorld(t)
	w.cfg.Features = []part.Part{{Kind: "image", Settings: map[string]any{
		"encoder": "small.onnx", "size": 12, "resize": 14, "mean": []float64{0.5, 0.25, 0}, "std": []float64{0.5, 1, 2},
	}}}
	p := pixel.Preprocess{
		Resize: 14, Width: 12, Height: 12, Interpolation: pixel.Bicubic, Layout: pixel.NCHW,
		Mean: [3]float32{0.5, 0.25, 0}, Std: [3]float32{0.5, 1, 2},
	}
	batch, err := w.plan(t).Source.Load(context.Background(), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	if err != nil {
		t.Fatal(err)
	}
	_, tensor := w.mustRunImages(t)
	values := make([]float32, p.Len())
	for n := range batch {
		prepared, err := p.Prepare(batch[n].Image, []pixel.View{pixel.Centre()})
		if err == nil {
			err = prepared.Fill(values, pixel.Centre())
		}
		if err != nil {
			t.Fatal(err)
		}
		var want float64
		for i, v := range values {
			want += float64(v) * float64(i%7-3) / 100
		}
		if got := tensor.Row(n); math.Abs(float64(got[0])-want) > 1e-4 || math.Abs(float64(got[1])+want) > 1e-4 {
			t.Errorf("%s: features %v, want %v and its negative", tensor.IDs[n], got, want)
		}
	}
	for resize, fits := range map[int]bool{14: true, 13: false} {
		p.Resize = resize
		m, err := featurize.ReadImageModel(filepath.Join(w.dir, "small.onnx"), featurize.ImageModelOptions{Preprocess: &p})
		if err != nil {
			t.Fatal(err)
		}
		if err := identity.CheckEncoder(tensor.Actions, m.Info()); (err == nil) != fits {
			t.Errorf("resized to %d: %v", resize, err)
		}
	}
}

// TestImageFeaturesNeedImages builds from rows of a table, and with a model that is not there.
func TestImageFeaturesNeedImages(t *testing.T) {
	w := newWorld(t, 12)
	w.cfg.Features = []part.Part{{Kind: "image", Settings: map[string]any{"encoder": "small.onnx"}}}
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "has no image") || !strings.Contains(err.Error(), "features[0] image") {
		t.Errorf("rows of a table: %v", err)
	}
	w = sizesWorld(t)
	w.cfg.Features = []part.Part{{Kind: "image", Settings: map[string]any{"encoder": "absent.onnx", "size": 12}}}
	_, err := Run(context.Background(), w.cfg, w.options(t))
	if err == nil || !strings.Contains(err.Error(), "absent.onnx") || !strings.Contains(err.Error(), "features[0] image") {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestImageFeaturesOfRealEncoders: MobileNet's 1,024 numbers, whose axes behind are flattened, and the tiny CLIP's
// projection. Two builds that cut shards differently agree.
func TestImageFeaturesOfRealEncoders(t *testing.T) {
	models := realdata.Folder(t, "models")
	for _, c := range []struct {
		settings map[string]any
		name     string
		dim      int
	}{
		{map[string]any{
			"encoder": filepath.Join(models, "imagenet", "mobilenet_v1_100_224_embedding.onnx"), "size": 224, "resize": 256,
			"mean": []float64{0.5, 0.5, 0.5}, "std": []float64{0.5, 0.5, 0.5},
		}, "image mobilenet_v1_100_224_embedding", 1024},
		{map[string]any{"encoder": filepath.Join(models, "tiny-random", "clip-tiny-random")}, "image clip-tiny-random", 12},
		{map[string]any{
			"encoder": hftest.VisionFolder(t, filepath.Join(models, "tiny-random", "clip-tiny-random"), "CLIPVisionModelWithProjection", "vision_model."),
		}, "image vision", 12},
	} {
		w := sizesWorld(t)
		w.cfg.Features = []part.Part{{Kind: "image", Settings: c.settings}}
		w.cfg.Experts = w.cfg.Experts[2:]
		r, first := w.mustRunImages(t)
		if r.Features != c.name || r.Dim != c.dim {
			t.Errorf("features %q of %d numbers, want %q of %d", r.Features, r.Dim, c.name, c.dim)
		}
		w.cfg.Shard, w.cfg.Batch = 4, 3
		_, second := w.mustRunImages(t)
		if d := largestDifference(first, second); d > 1e-5 {
			t.Errorf("%s: %v between builds of other batches", c.name, d)
		}
	}
}

func largestDifference(a, b *costs.Tensor) float64 {
	var d float64
	for i, v := range a.Features {
		d = max(d, math.Abs(float64(v-b.Features[i])))
	}
	return d
}
