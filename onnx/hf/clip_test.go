package hf_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/onnx/rewrite"
)

// clipGolden was computed by the official library: vectors of a padded batch of texts and of a batch of images, before
// normalisation.
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

// texts are the ids of some texts; ids after the first end token are padding.
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

// towersOf are a tower built from weights, and its export.
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

// Both towers, from weights and from exports, agree with the official library. Those from weights give the same bits in
// any batch.
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
	for tower, want := range map[hf.Tower][][]float32{hf.TowerText: g.Texts, hf.TowerVision: g.Images} {
		for road, m := range towersOf(t, folder, tower) {
			half, err := rewrite.ToFloat16(m)
			if err != nil {
				t.Fatal(err)
			}
			in, out := g.texts(g.IDs...), hf.TextEmbeds
			if tower == hf.TowerVision {
				in, out = g.images(0, 2), hf.ImageEmbeds
			}
			within(t, string(tower)+" in float16 from "+road, run(t, rt, half, in)[out].Float32s(), slices.Concat(want...), 2e-3)
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

// For a checkpoint with a wrong end id, the largest id is the end; missing towers are reported.
func TestCLIPFolders(t *testing.T) {
	rt, folder := orttest.Open(t, 1), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	ids := []int64{2, 60, 9, 3, 3, 2, 7, 63, 8, 3}
	in := map[string]*onnx.Tensor{
		"input_ids":      onnx.Int64s([]int64{2, 5}, ids),
		"attention_mask": onnx.Int64s([]int64{2, 5}, []int64{1, 1, 1, 1, 0, 1, 1, 1, 1, 1}),
	}
	// upTo is the vector of a text that ends, according to the configuration, after n tokens.
	upTo := func(row, n int) []float32 {
		c := hftest.SpellingCLIP(1).Config()
		c["text_config"].(map[string]any)["eos_token_id"] = ids[5*row+n-1]
		if err := hftest.WriteJSON(folder, "config.json", c); err != nil {
			t.Fatal(err)
		}
		one := map[string]*onnx.Tensor{
			"input_ids":      onnx.Int64s([]int64{1, int64(n)}, ids[5*row:5*row+n]),
			"attention_mask": onnx.Int64s([]int64{1, int64(n)}, slices.Repeat([]int64{1}, n)),
		}
		return run(t, rt, build(t, folder, hf.Options{Tower: hf.TowerText}), one)[hf.TextEmbeds].Float32s()
	}
	for end, want := range map[int][]float32{3: slices.Concat(upTo(0, 4), upTo(1, 5)), 2: slices.Concat(upTo(0, 2), upTo(1, 3))} {
		c := hftest.SpellingCLIP(1).Config()
		c["text_config"].(map[string]any)["eos_token_id"] = end
		if err := hftest.WriteJSON(folder, "config.json", c); err != nil {
			t.Fatal(err)
		}
		near(t, "texts", run(t, rt, build(t, folder, hf.Options{Tower: hf.TowerText}), in)[hf.TextEmbeds].Float32s(), want)
	}
	for want, o := range map[string]hf.Options{
		`clip has the towers ["text" "vision"], not ""`: {},
		`not "audio"`: {Tower: "audio"},
	} {
		if _, err := hf.Model(folder, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := hf.Model(small(t), hf.Options{Tower: hf.TowerText}); err == nil || !strings.Contains(err.Error(), `bert has the towers [""]`) {
		t.Errorf("a tower of a model without: %v", err)
	}
}

// The scale of logits comes from the weights; if there are only exports, it is the value at the end of training.
func TestLogitScale(t *testing.T) {
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	if scale, err := hf.LogitScale(folder); err != nil || math.Abs(scale-20) > 1e-5 {
		t.Errorf("the scale is %v (%v)", scale, err)
	}
	if err := build(t, folder, hf.Options{Tower: hf.TowerVision}).WriteFile(filepath.Join(folder, "vision_model.onnx")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if scale, err := hf.LogitScale(folder); err != nil || scale != 100 {
		t.Errorf("the scale of exports is %v (%v)", scale, err)
	}
	if err := os.Remove(filepath.Join(folder, "vision_model.onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err := hf.LogitScale(folder); err == nil {
		t.Error("an empty folder has a scale")
	}
	w := hftest.SpellingCLIP(1).Weights()
	w["logit_scale"] = onnx.Float32s([]int64{}, []float32{float32(math.NaN())})
	writeWeights(t, folder, "model.safetensors", w)
	if _, err := hf.LogitScale(folder); err == nil {
		t.Error("a scale that is not a number")
	}
}

// Invalid configurations of towers are errors that name them.
func TestBadCLIPConfigurations(t *testing.T) {
	for want, change := range map[string]func(text, vision map[string]any){
		"text_config: vocab_size is 0":                            func(text, _ map[string]any) { text["vocab_size"] = 0 },
		"text_config: hidden_size 16 is not a multiple of 3":      func(text, _ map[string]any) { text["num_attention_heads"] = 3 },
		"vision_config: patch_size 33 is more than":               func(_, vision map[string]any) { vision["patch_size"] = 33 },
		"vision_config: num_channels is 1":                        func(_, vision map[string]any) { vision["num_channels"] = 1 },
		"vision_config: layer_norm_eps is 2":                      func(_, vision map[string]any) { vision["layer_norm_eps"] = 2 },
		`vision_config: hidden_act "swish" is not known`:          func(_, vision map[string]any) { vision["hidden_act"] = "swish" },
		"vision_config: json":                                     func(_, vision map[string]any) { vision["patch_size"] = "four" },
		`no tensor "vision_model.encoder.layers.2.layer_norm1`:    func(_, vision map[string]any) { vision["num_hidden_layers"] = 1 << 24 },
		"has shape [5 24], config.json asks for [17 24]":          func(_, vision map[string]any) { vision["image_size"] = 64 },
		"has shape [24 3 16 16], config.json asks for [24 3 2 2]": func(_, vision map[string]any) { vision["patch_size"] = 2 },
	} {
		folder, c := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), hftest.SpellingCLIP(1).Config()
		change(c["text_config"].(map[string]any), c["vision_config"].(map[string]any))
		if err := hftest.WriteJSON(folder, "config.json", c); err != nil {
			t.Fatal(err)
		}
		if _, err := hf.Model(folder, hf.Options{Tower: hf.TowerVision}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// The configuration of the real CLIP is read, including settings that old files state twice.
func TestConfigOfRealCLIP(t *testing.T) {
	c, err := hf.ReadConfig(realdata.Folder(t, "tokenizers", "clip-vit-large-patch14"))
	if err != nil || c.VocabSize != 49408 || c.MaxPositions != 77 || c.ImageSize != 224 || len(c.Towers) != 2 {
		t.Errorf("%+v (%v)", c, err)
	}
}

// No configuration makes the reader panic.
func FuzzConfig(f *testing.F) {
	for _, c := range []any{hftest.SpellingCLIP(1).Config(), hftest.BERTConfig(), map[string]any{"model_type": "roberta"}} {
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	weights, err := hftest.Safetensors(hftest.SpellingCLIP(1).Weights())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		for name, content := range map[string][]byte{"config.json": text, "model.safetensors": weights} {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, tower := range []hf.Tower{"", hf.TowerText, hf.TowerVision} {
			m, err := hf.Model(folder, hf.Options{Tower: tower})
			if err != nil {
				continue
			}
			if err := m.Check(); err != nil {
				t.Errorf("a graph that is none: %v", err)
			}
		}
	})
}

// A text ends at the first token that ends texts, whatever ids follow.
func TestCLIPTextsEndAtTheirEnd(t *testing.T) {
	c := hftest.SpellingCLIP(1)
	rt, m := orttest.Open(t, 1), build(t, hftest.CLIPFolder(t, c), hf.Options{Tower: hf.TowerText})
	vector := func(ids ...int64) []float32 {
		mask := slices.Repeat([]int64{1}, len(ids))
		shape := []int64{1, int64(len(ids))}
		return run(t, rt, m, map[string]*onnx.Tensor{"input_ids": onnx.Int64s(shape, ids), "attention_mask": onnx.Int64s(shape, mask)})[hf.TextEmbeds].Float32s()
	}
	above := c.End + 2
	near(t, "a text with more behind its end", vector(1, c.End, above, c.End), vector(1, c.End))
	if slices.Equal(vector(1, c.End), vector(2, c.End)) {
		t.Error("texts do not matter")
	}
}
