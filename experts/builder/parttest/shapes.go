package parttest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"testing"

	"pipe/experts/builder/part"
	"pipe/onnx"
)

// TenViews returns Krizhevsky's ten views of an image: four corners and the centre, each also mirrored.
func TenViews() []string {
	return []string{
		"centre", "mirror", "top-left", "top-right", "bottom-left", "bottom-right",
		"mirror-top-left", "mirror-top-right", "mirror-bottom-left", "mirror-bottom-right",
	}
}

// Shapes writes ten images of different sizes and three networks into a folder: two networks of the same geometry that
// scale pixels differently, and a smaller one. It returns the configuration of a build there, under the first 1, 2, 6 and
// 10 of TenViews. An error ends the test.
func Shapes(t testing.TB, dir string) part.Config {
	t.Helper()
	cfg := part.DefaultConfig()
	for i := range 10 {
		m := image.NewNRGBA(image.Rect(0, 0, 20+3*i, 50-2*i))
		for p := range m.Rect.Dx() * m.Rect.Dy() {
			x, y := p%m.Rect.Dx(), p/m.Rect.Dx()
			m.SetNRGBA(x, y, color.NRGBA{R: uint8(9 * x), G: uint8(7 * y), B: uint8(20 * i), A: 255})
		}
		WritePNG(t, filepath.Join(dir, "images", []string{"a", "b"}[i%2], fmt.Sprintf("%02d.png", i)), m)
	}
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images"}}
	for _, n := range []int{1, 2, 6, 10} {
		cfg.Advice = append(cfg.Advice, part.AdviceConfig{Name: fmt.Sprint(n), Kind: "views", Settings: map[string]any{"views": TenViews()[:n]}})
	}
	for _, e := range []struct {
		name, file   string
		size, resize int
		mean         float64
	}{{"dark", "large", 16, 18, 0.5}, {"light", "large", 16, 18, 0}, {"small", "small", 12, 14, 0}} {
		weights := make([][]float32, 3*e.size*e.size)
		for i := range weights {
			v := float32(i%7-3) / 100
			weights[i] = []float32{v, -v}
		}
		LinearModel(t, filepath.Join(dir, e.file+".onnx"), onnx.Shape{onnx.Sym("n"), onnx.Fix(3), onnx.Fix(int64(e.size)), onnx.Fix(int64(e.size))}, weights)
		cfg.Experts = append(cfg.Experts, part.ExpertConfig{Name: e.name, Kind: "onnx_image", Settings: map[string]any{
			"model": e.file + ".onnx", "resize": e.resize, "batch": 7, "mean": []float64{e.mean, e.mean, e.mean},
		}})
	}
	cfg.Features = []part.Part{{Kind: "pooled"}}
	return cfg
}

// WritePNG writes an image as a PNG file and creates its folder if needed. An error ends the test.
func WritePNG(t testing.TB, file string, m image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	Write(t, file, b.String())
}
