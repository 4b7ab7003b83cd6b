package featurize

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/featurize/pixel"
	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

func openImages(t *testing.T, rt *ort.Runtime, name string, o ImageModelOptions) *ImageEncoder {
	t.Helper()
	e, err := OpenImageEncoder(rt, name, o, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func imageVectors(t *testing.T, e *ImageEncoder, images ...*pixel.Image) []float32 {
	t.Helper()
	out := make([]float32, len(images)*e.Dim())
	if err := e.Encode(context.Background(), out, images); err != nil {
		t.Fatal(err)
	}
	return out
}

// pictures draws images of some sizes.
func pictures(r *rand.Rand, n int) []*pixel.Image {
	images := make([]*pixel.Image, n)
	for i := range images {
		m := &pixel.Image{Width: 10 + r.IntN(40), Height: 10 + r.IntN(40)}
		m.Pix = make([]uint8, 3*m.Width*m.Height)
		for k := range m.Pix {
			m.Pix[k] = uint8(r.IntN(256))
		}
		images[i] = m
	}
	return images
}

// towerSession opens the bare tower of images of a folder, closed at the end of the test.
func towerSession(t *testing.T, rt *ort.Runtime, folder string) *ort.Session {
	t.Helper()
	m, err := hf.Model(folder, hf.Options{Tower: hf.TowerVision})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// towerVectors runs the bare tower of images on what Fill makes of them.
func towerVectors(t *testing.T, rt *ort.Runtime, folder string, p pixel.Preprocess, images []*pixel.Image) []float32 {
	t.Helper()
	s := towerSession(t, rt, folder)
	values := make([]float32, len(images)*p.Len())
	for i, img := range images {
		prepared, err := p.Prepare(img, []pixel.View{pixel.Centre()})
		if err == nil {
			err = prepared.Fill(values[i*p.Len():(i+1)*p.Len()], pixel.Centre())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	shape := []int64{int64(len(images)), 3, int64(p.Height), int64(p.Width)}
	out, err := s.Run(context.Background(), map[string]*onnx.Tensor{hf.PixelValues: onnx.Float32s(shape, values)})
	if err != nil {
		t.Fatal(err)
	}
	return out[hf.ImageEmbeds].Float32s()
}

func sameValues(t *testing.T, what string, got, want []float32, within float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
	}
	if !(worst <= within) {
		t.Errorf("%s: values differ by up to %g", what, worst)
	}
	t.Logf("%s: values differ by up to %.2g", what, worst)
}

// Weights, an export, a graph with the channels last and the file that Encoder
// makes give the vectors of the bare tower, in any company with the same bits.
func TestImageRoadsAgree(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images := pictures(rand.New(rand.NewPCG(2, 2)), 35)
	p := pixel.CLIPPreprocess(32)
	want := towerVectors(t, rt, folder, p, images)
	first := openImages(t, rt, folder, DefaultImageModelOptions())
	roads := map[string]*ImageEncoder{"weights": first}
	model, err := ReadImageModel(folder, DefaultImageModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	file, err := model.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "encoder.onnx")
	if err := file.WriteFile(alone); err != nil {
		t.Fatal(err)
	}
	roads["own file"] = openImages(t, rt, alone, DefaultImageModelOptions())
	export := filepath.Join(folder, "onnx", "vision_model.onnx")
	writeExport(t, folder, export, hf.Options{Tower: hf.TowerVision})
	roads["export"] = openImages(t, rt, folder, DefaultImageModelOptions())
	roads["bare export"] = openImages(t, rt, export, ImageModelOptions{Preprocess: &p, Output: hf.ImageEmbeds})
	half := openImages(t, rt, folder, ImageModelOptions{Precision: Float16})
	sameValues(t, "float16", imageVectors(t, half, images...), want, 2e-2)
	if half.Digest() == roads["export"].Digest() {
		t.Error("float16 has the digest of float32")
	}
	for road, e := range roads {
		got := imageVectors(t, e, images...)
		sameValues(t, road, got, want, 1e-6)
		for i, img := range images {
			if !slices.Equal(imageVectors(t, e, img), got[i*e.Dim():(i+1)*e.Dim()]) {
				t.Errorf("%s: image %d has another vector alone", road, i)
			}
		}
		if e.Name() != "clip" {
			t.Errorf("%s is called %q", road, e.Name())
		}
	}
	if own := roads["own file"]; own.Digest() != first.Digest() || own.Preprocess() != first.Preprocess() {
		t.Error("the file is another encoder than the folder")
	}
	if roads["export"].Digest() == first.Digest() {
		t.Error("export and weights have one digest")
	}
}

// Exports of a tower need no config.json, nor an architecture that is known.
func TestExportsAlone(t *testing.T) {
	folder, p := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), pixel.CLIPPreprocess(32)
	writeExport(t, folder, filepath.Join(folder, "onnx", "vision_model.onnx"), hf.Options{Tower: hf.TowerVision})
	if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if err := hftest.WriteJSON(folder, "config.json", map[string]any{"model_type": "other"}); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadImageModel(folder, ImageModelOptions{Preprocess: &p}); err != nil || m.Dim() != 12 || m.Architecture != "other" {
		t.Errorf("an unknown architecture: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "config.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadImageModel(folder, ImageModelOptions{Preprocess: &p}); err != nil {
		t.Errorf("no configuration: %v", err)
	}
	var missing *MissingPreprocessError
	if _, err := ReadImageModel(folder, DefaultImageModelOptions()); !errors.As(err, &missing) {
		t.Errorf("no preprocessing: %v", err)
	}
}

// What folders say and what is asked for decide, by this order.
func TestPreprocessOfImageModels(t *testing.T) {
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	read := func(o ImageModelOptions) *ImageModel {
		t.Helper()
		m, err := ReadImageModel(folder, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	plain := read(DefaultImageModelOptions())
	if plain.Preprocess != pixel.CLIPPreprocess(32) || plain.Dim() != 12 {
		t.Errorf("a CLIP without a file has %+v, dimension %d", plain.Preprocess, plain.Dim())
	}
	if err := hftest.WriteJSON(folder, "preprocessor_config.json", map[string]any{
		"size": 40, "crop_size": 32, "resample": 2, "image_mean": []float32{0.5, 0.5, 0.5}, "image_std": []float32{0.5, 0.5, 0.25},
	}); err != nil {
		t.Fatal(err)
	}
	told := read(DefaultImageModelOptions())
	if told.Preprocess.Resize != 40 || told.Preprocess.Interpolation != pixel.Bilinear || told.Digest() == plain.Digest() {
		t.Errorf("the file is not followed: %+v", told.Preprocess)
	}
	asked := pixel.CLIPPreprocess(32)
	if m := read(ImageModelOptions{Preprocess: &asked}); m.Digest() != plain.Digest() {
		t.Error("what is asked for is not what is done")
	}
}

// What cannot be an encoder of images is an error that says why.
func TestBadImageModels(t *testing.T) {
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	channels := pixel.CLIPPreprocess(32)
	channels.Layout = pixel.NHWC
	larger, broken := pixel.CLIPPreprocess(64), pixel.CLIPPreprocess(0)
	bare := filepath.Join(t.TempDir(), "bare.onnx")
	writeExport(t, folder, bare, hf.Options{Tower: hf.TowerVision})
	huge, c := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), hftest.SpellingCLIP(1).Config()
	writeExport(t, huge, filepath.Join(huge, "vision_model.onnx"), hf.Options{Tower: hf.TowerVision})
	c["vision_config"].(map[string]any)["image_size"] = 1 << 24
	if err := hftest.WriteJSON(huge, "config.json", c); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(t.TempDir(), "hidden.onnx")
	writeExport(t, hftest.Folder(t), hidden, hf.Options{})
	for want, c := range map[string]struct {
		name string
		o    ImageModelOptions
	}{
		"the preprocessing makes [batch 32 32 3] (nhwc)": {folder, ImageModelOptions{Preprocess: &channels}},
		"the preprocessing makes [batch 3 64 64] (nchw)": {folder, ImageModelOptions{Preprocess: &larger}},
		"input is 0 x 0 pixels of":                       {folder, ImageModelOptions{Preprocess: &broken}},
		"input is 16777216 x 16777216 pixels":            {huge, ImageModelOptions{}},
		`but no "pooled"`:                                {folder, ImageModelOptions{Output: "pooled"}},
		"no preprocessor_config.json":                    {bare, ImageModelOptions{}},
		`a model of type "bert" without an ONNX export`:  {hftest.Folder(t), ImageModelOptions{}},
		"is not a vector":                                {hidden, ImageModelOptions{Preprocess: &channels}},
	} {
		_, err := ReadImageModel(c.name, c.o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		var missing *MissingPreprocessError
		if c.name == bare && (!errors.As(err, &missing) || missing.Hint() == "") {
			t.Errorf("%v has no hint", err)
		}
	}
}

// A text encoder's file is no image encoder, and the other way round.
func TestEncodersOfOtherInputs(t *testing.T) {
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	images, err := ReadImageModel(folder, DefaultImageModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	texts, err := ReadTextModel(folder, DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	write := func(m *onnx.Model, err error) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "encoder.onnx")
		if err == nil {
			err = m.WriteFile(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := ReadTextModel(write(images.Encoder()), DefaultTextModelOptions()); err == nil || !strings.Contains(err.Error(), `the encoder has input "image", not "text"`) {
		t.Errorf("images as texts: %v", err)
	}
	path := write(texts.Encoder())
	if _, err := ReadImageModel(path, DefaultImageModelOptions()); err == nil || !strings.Contains(err.Error(), `the encoder has input "text", not "image"`) {
		t.Errorf("texts as images: %v", err)
	}
	if _, err := ReadTextModel(path, TextModelOptions{Tokenizer: folder}); err == nil || !strings.Contains(err.Error(), "contains its tokenizer") {
		t.Errorf("another tokenizer: %v", err)
	}
}

const mobileNetScript = `
import sys, numpy as np, onnxruntime
s = onnxruntime.InferenceSession(sys.argv[1])
pixels = np.stack([np.fromfile(p, np.uint8).reshape(224, 224, 3) for p in sys.argv[3:]])
values = (pixels.astype(np.float32) / 127.5 - 1).transpose(0, 3, 1, 2)
s.run(["embedding"], {"pixel_values": values})[0].astype("<f4").tofile(sys.argv[2])
`

// A real network of operator set 11 gives what ONNX Runtime gives in Python for
// the pixels that Pillow made.
func TestMobileNetEqualsPython(t *testing.T) {
	py, rt := judge.Python(t, "onnxruntime", "numpy"), orttest.Open(t, 0)
	path := filepath.Join(realdata.Folder(t, "models", "imagenet"), "mobilenet_v1_100_224_embedding.onnx")
	files, err := filepath.Glob(filepath.Join(realdata.Folder(t, "imagenet", "golden_clip_preprocess"), "*.u8"))
	if err != nil || len(files) == 0 {
		t.Fatal("no pixels", err)
	}
	out := filepath.Join(t.TempDir(), "want.f32")
	judge.Run(t, py, "", mobileNetScript, append([]string{path, out}, files...)...)
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, len(raw)/4)
	for i := range want {
		want[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	p := pixel.Preprocess{Width: 224, Height: 224, Layout: pixel.NCHW, Mean: [3]float32{0.5, 0.5, 0.5}, Std: [3]float32{0.5, 0.5, 0.5}}
	e := openImages(t, rt, path, ImageModelOptions{Preprocess: &p})
	var images []*pixel.Image
	for _, file := range files {
		pixels, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, &pixel.Image{Width: 224, Height: 224, Pix: pixels})
	}
	got := imageVectors(t, e, images...)
	if e.Dim() != 1024 || len(got) != len(want) {
		t.Fatalf("vectors of %d, %d values, want %d", e.Dim(), len(got), len(want))
	}
	apart := 0
	for i := range want {
		if got[i] != want[i] {
			apart++
		}
	}
	t.Logf("%d of %d values differ", apart, len(want))
	sameValues(t, "MobileNet", got, want, 1e-4)
}

// An encoder's file has its precision inside: it is taken as it is, and refused
// where the other one is asked for.
func TestPrecisionOfEncoderFiles(t *testing.T) {
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	for _, inside := range []Precision{Float32, Float16} {
		m, err := ReadImageModel(folder, ImageModelOptions{Precision: inside})
		if err != nil {
			t.Fatal(err)
		}
		file, err := m.Encoder()
		path := filepath.Join(t.TempDir(), "encoder.onnx")
		if err == nil {
			err = file.WriteFile(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range []Precision{AnyPrecision, Float32, Float16, "half"} {
			got, err := ReadImageModel(path, ImageModelOptions{Precision: asked})
			switch {
			case asked == AnyPrecision || asked == inside:
				if err != nil || got.Float16 != (inside == Float16) {
					t.Errorf("%q of a file in %s: %v", asked, inside, err)
				}
			case asked == "half":
				if err == nil || !strings.Contains(err.Error(), `precision is "half"; known are float32, float16`) {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the file is in %s; make a %s file", inside, asked)):
				t.Errorf("%q of a file in %s: %v", asked, inside, err)
			}
		}
	}
}
