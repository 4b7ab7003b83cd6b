package parttest

import (
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/onnx/hf/hftest"
)

// CLIPClasses returns the names of the classes of CLIP; two classes have the same name.
func CLIPClasses() []string { return []string{"cat", "dog", "owl", "crane", "red fox", "crane"} }

// CLIP writes n noisy pictures of six classes, templates, a class list and a small CLIP into a folder. It returns the
// configuration of a build there: one expert under two levels of prompts. An error ends the test.
func CLIP(t testing.TB, dir string, n int) part.Config {
	t.Helper()
	model := filepath.Join(dir, "clip")
	err := os.MkdirAll(model, 0o777)
	if err == nil {
		err = hftest.WriteCLIP(model, hftest.SpellingCLIP(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	var index []string
	classes := CLIPClasses()
	for c, name := range classes {
		index = append(index, fmt.Sprintf(`"%d": ["n%d", "%s"]`, c, c, name))
	}
	Write(t, filepath.Join(dir, "classes.json"), "{"+strings.Join(index, ", ")+"}")
	Write(t, filepath.Join(dir, "templates.txt"), "a photo of a {}\nthe {}\nart of a {}\none {} in the dark\n")
	for i := range n {
		NoisePNG(t, filepath.Join(dir, "images", fmt.Sprintf("n%d", i%len(classes)), fmt.Sprintf("%d.png", i)), i)
	}
	cfg := part.DefaultConfig()
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images"}}
	cfg.Advice = []part.AdviceConfig{CLIPPrompts("one", 0, 1), CLIPPrompts("three", 0.1, 3)}
	cfg.Experts = []part.ExpertConfig{{Name: "clip", Kind: "clip", Settings: map[string]any{"model": "clip", "classes": "classes.json"}}}
	cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 2}}, {Kind: "expert", Settings: map[string]any{"expert": "clip"}}}
	cfg.Shard, cfg.Batch, cfg.Workers = 8, 4, 2
	return cfg
}

// CLIPPrompts returns a level of advice with the first count templates of CLIP, after moving the third to the front.
func CLIPPrompts(name string, fee float64, count int) part.AdviceConfig {
	return part.AdviceConfig{Name: name, Fee: fee, Kind: "prompts", Settings: map[string]any{
		"templates": "templates.txt", "first": []string{"art of a {}"}, "count": count,
	}}
}

// NoisePNG writes an image of noise that is not square. Images with different seeds differ.
func NoisePNG(t testing.TB, file string, seed int) {
	t.Helper()
	r, img := rand.New(rand.NewPCG(uint64(seed), 5)), image.NewRGBA(image.Rect(0, 0, 40, 36))
	for i := range img.Bounds().Dx() * img.Bounds().Dy() {
		v := r.Uint32()
		img.Set(i%40, i/40, color.RGBA{R: uint8(v), G: uint8(v >> 8), B: uint8(v >> 16), A: 255})
	}
	WritePNG(t, file, img)
}
