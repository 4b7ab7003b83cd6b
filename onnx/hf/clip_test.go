package hf_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort/orttest"
)

// clipGolden is what the official library computed: vectors of a padded batch of
// texts and of a batch of images, before they get length 1.
type clipGolden struct {
	IDs    [][]int64   `json:"input_ids"`
	Texts  [][]float32 `json:"text_embeds"`
	Shape  []int64     `json:"pixel_shape"`
	Images [][]float32 `json:"image_embeds"`
	pixels []float32
}

func readCLIPGolden(t *testing.T, folder string) clipGolden {
	t.Helper()
	var g clipGolden
	text, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "golden_pixel_values.f32"))
	if err != nil {
		t.Fatal(err)
	}
	g.pixels = (&onnx.Tensor{DType: onnx.Float32, Shape: []int64{int64(len(raw) / 4)}, Raw: raw}).Float32s()
	return g
}

// texts are the ids of some texts; those behind the first end are padding.
func (g clipGolden) texts(rows ...[]int64) map[string]*onnx.Tensor {
	var ids, mask []int64
	for _, row := range rows {
		end := slices.Index(row, 49407)
		for i, id := range row {
			ids, mask = append(ids, id), append(mask, 0)
			if i <= end {
				mask[len(mask)-1] = 1
			}
		}
	}
	shape := []int64{int64(len(rows)), int64(len(rows[0]))}
	return map[string]*onnx.Tensor{"input_ids": onnx.Int64s(shape, ids), "attention_mask": onnx.Int64s(shape, mask)}
}

func (g clipGolden) images(from, to int) map[string]*onnx.Tensor {
	shape, one := slices.Clone(g.Shape), len(g.pixels)/int(g.Shape[0])
	shape[0] = int64(to - from)
	return map[string]*onnx.Tensor{hf.PixelValues: onnx.Float32s(shape, g.pixels[from*one:to*one])}
}

// towersOf are a tower built of weights, and its export.
func towersOf(t *testing.T, folder string, tower hf.Tower) map[string]*onnx.Model {
	t.Helper()
	path, found := hf.ExportOf(folder, tower)
	if !found {
		t.Fatalf("no export of %s", tower)
	}
	export, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*onnx.Model{"weights": build(t, folder, hf.Options{Tower: tower}), "export": export}
}

// Both towers, from weights and from exports, give what the official library
// gives; those of weights in any company with the same bits.
func TestCLIPEqualsGolden(t *testing.T) {
	folder := realdata.Folder(t, "models", "tiny-random", "clip-tiny-random")
	rt, g := orttest.Open(t, 1), readCLIPGolden(t, folder)
	for road, m := range towersOf(t, folder, hf.TowerText) {
		all := run(t, rt, m, g.texts(g.IDs...))[hf.TextEmbeds].Float32s()
		near(t, "texts from "+road, all, slices.Concat(g.Texts...))
		for n, want := range g.Texts {
			alone := g.texts(g.IDs[n][:1+slices.Index(g.IDs[n], 49407)])
			got := run(t, rt, m, alone)[hf.TextEmbeds].Float32s()
			near(t, "a text alone, without padding, from "+road, got, want)
			got = run(t, rt, m, g.texts(g.IDs[n]))[hf.TextEmbeds].Float32s()
			if road == "weights" && !slices.Equal(got, all[n*len(want):(n+1)*len(want)]) {
				t.Errorf("text %d has another vector alone", n)
			}
		}
	}
	for road, m := range towersOf(t, folder, hf.TowerVision) {
		all := run(t, rt, m, g.images(0, 2))[hf.ImageEmbeds].Float32s()
		near(t, "images from "+road, all, slices.Concat(g.Images...))
		for n, want := range g.Images {
			got := run(t, rt, m, g.images(n, n+1))[hf.ImageEmbeds].Float32s()
			if road == "weights" && !slices.Equal(got, all[n*len(want):(n+1)*len(want)]) {
				t.Errorf("image %d has another vector alone", n)
			}
		}
	}
	c, err := hf.ReadConfig(folder)
	if err != nil || c.VocabSize != 49408 || c.MaxPositions != 77 || c.ImageSize != 224 || !c.Has(hf.TowerText) || !c.Has(hf.TowerVision) {
		t.Errorf("the configuration is %+v (%v)", c, err)
	}
	scale, err := hf.LogitScale(folder)
	if want := math.Exp(2.6592); err != nil || math.Abs(scale-want) > 1e-5*want {
		t.Errorf("logits are scaled by %v (%v), want %v", scale, err, want)
	}
}
