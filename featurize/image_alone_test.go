package featurize

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/featurize/pixel"
	"pipe/internal/dataerror"
	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
)

// The vision tower of a CLIP, saved alone, makes the vectors of the whole folder's weights with the same bits, however the
// weights and the class are called, and the preprocessing is CLIP's.
func TestVisionTowerAlone(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images := pictures(rand.New(rand.NewPCG(4, 4)), 20)
	whole := openImages(t, rt, folder, DefaultImageModelOptions())
	want := imageVectors(t, whole, images...)
	for _, c := range []struct{ class, prefix string }{
		{"CLIPVisionModelWithProjection", "vision_model."}, {"CLIPVisionModelWithProjection", ""}, {"", "vision_model."},
	} {
		alone := hftest.VisionFolder(t, folder, c.class, c.prefix)
		e := openImages(t, rt, alone, DefaultImageModelOptions())
		if !slices.Equal(imageVectors(t, e, images...), want) || e.Preprocess() != whole.Preprocess() || e.Name() != "vision" {
			t.Errorf("%+v: another encoder", c)
		}
		if inputs, err := EncoderInputs(alone); err != nil || !slices.Equal(inputs, []string{InputImage}) {
			t.Errorf("%+v reads %v (%v)", c, inputs, err)
		}
	}
}

// Without the text tower's weights, the folder of a whole CLIP is an encoder of images as before.
func TestCLIPWithoutTextWeights(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images := pictures(rand.New(rand.NewPCG(4, 4)), 5)
	want := imageVectors(t, openImages(t, rt, folder, DefaultImageModelOptions()), images...)
	alone := hftest.VisionFolder(t, folder, "", "vision_model.")
	if err := os.Rename(filepath.Join(alone, "model.safetensors"), filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if got := imageVectors(t, openImages(t, rt, folder, DefaultImageModelOptions()), images...); !slices.Equal(got, want) {
		t.Error("other vectors without the weights of the text tower")
	}
}

// A tower without a projection gives the hidden state that the projection multiplies.
func TestVisionTowerWithoutProjection(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images := pictures(rand.New(rand.NewPCG(5, 5)), 20)
	projected := openImages(t, rt, folder, DefaultImageModelOptions())
	want := imageVectors(t, projected, images...)
	alone := hftest.VisionFolder(t, folder, "CLIPVisionModel", "vision_model.")
	pooled := openImages(t, rt, alone, DefaultImageModelOptions())
	hidden := imageVectors(t, pooled, images...)
	all, err := onnx.OpenSafetensors(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	tensor, err := all.Tensor("visual_projection.weight")
	if err != nil {
		t.Fatal(err)
	}
	w, width := tensor.Float32s(), pooled.Dim()
	if width != 24 || len(w) != width*projected.Dim() {
		t.Fatalf("vectors of %d numbers, a projection of %v", width, tensor.Shape)
	}
	got := make([]float32, len(want))
	for i := range got {
		sum := 0.0
		for k := range width {
			sum += float64(hidden[i/projected.Dim()*width+k]) * float64(w[i%projected.Dim()*width+k])
		}
		got[i] = float32(sum)
	}
	sameValues(t, "the projection of hidden states", got, want, 1e-5)
	for i, img := range images[:3] {
		if !slices.Equal(imageVectors(t, pooled, img), hidden[i*width:(i+1)*width]) {
			t.Errorf("image %d has another vector alone", i)
		}
	}
}

// A tower alone is found by its export, under either name, before its weights.
func TestVisionExportAlone(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images := pictures(rand.New(rand.NewPCG(6, 6)), 3)
	want := imageVectors(t, openImages(t, rt, folder, DefaultImageModelOptions()), images...)
	for _, name := range []string{"onnx/model.onnx", "vision_model.onnx"} {
		alone := hftest.VisionFolder(t, folder, "CLIPVisionModelWithProjection", "vision_model.")
		writeExport(t, folder, filepath.Join(alone, name), hf.Options{Tower: hf.TowerVision})
		if err := os.Remove(filepath.Join(alone, "model.safetensors")); err != nil {
			t.Fatal(err)
		}
		e := openImages(t, rt, alone, DefaultImageModelOptions())
		sameValues(t, name, imageVectors(t, e, images...), want, 1e-6)
	}
}

// The tower of the official library's tiny CLIP, saved alone, gives its vectors.
func TestVisionTowerAloneEqualsGolden(t *testing.T) {
	rt, folder := orttest.Open(t, 0), realdata.Folder(t, "models", "tiny-random", "clip-tiny-random")
	alone := hftest.VisionFolder(t, folder, "CLIPVisionModelWithProjection", "vision_model.")
	var golden struct {
		Shape   []int64     `json:"pixel_shape"`
		Vectors [][]float32 `json:"image_embeds"`
	}
	text, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "golden_pixel_values.f32"))
	if err != nil {
		t.Fatal(err)
	}
	s := towerSession(t, rt, alone)
	out, err := s.Run(t.Context(), map[string]*onnx.Tensor{hf.PixelValues: {DType: onnx.Float32, Shape: golden.Shape, Raw: raw}})
	if err != nil {
		t.Fatal(err)
	}
	sameValues(t, "a tower alone", out[hf.ImageEmbeds].Float32s(), slices.Concat(golden.Vectors...), 5e-7)
}

// What a tower alone lacks is named.
func TestBadVisionTowers(t *testing.T) {
	clip, p := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), pixel.CLIPPreprocess(32)
	edited := func(edit func(config map[string]any)) string {
		folder := hftest.VisionFolder(t, clip, "CLIPVisionModelWithProjection", "vision_model.")
		editJSON(t, folder, "config.json", edit)
		return folder
	}
	pooled := hftest.VisionFolder(t, clip, "CLIPVisionModel", "vision_model.")
	editJSON(t, pooled, "config.json", func(c map[string]any) { c["architectures"] = []string{"CLIPVisionModelWithProjection"} })
	for want, folder := range map[string]string{
		`no tensor "visual_projection.weight"`: pooled,
		`"visual_projection.weight" has shape`: edited(func(c map[string]any) { c["projection_dim"] = 13 }),
		"patch_size 64 is more than":           edited(func(c map[string]any) { c["patch_size"] = 64 }),
		"num_channels is 1":                    edited(func(c map[string]any) { c["num_channels"] = 1 }),
	} {
		var data *dataerror.Error
		if _, err := ReadImageModel(folder, ImageModelOptions{Preprocess: &p}); !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	_, err := ReadTextModel(edited(func(map[string]any) {}), DefaultTextModelOptions())
	if err == nil || !strings.Contains(err.Error(), `a model of type "clip_vision_model" has the towers ["vision"], not "text"`) {
		t.Errorf("got %v", err)
	}
}
