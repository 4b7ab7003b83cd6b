package build

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs/builder/part"
	"pipe/internal/progress"
	"pipe/onnx/hf/hftest"
)

// clipClasses are the names in the world of newClipWorld; two have the same.
var clipClasses = []string{"cat", "dog", "owl", "crane", "red fox", "crane"}

// newClipWorld writes n noisy pictures of six classes, templates, a class list
// and a small CLIP that answers under two families of prompts.
func newClipWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	if err := hftest.WriteCLIP(w.folder(t, "clip"), hftest.SpellingCLIP(1)); err != nil {
		t.Fatal(err)
	}
	var index []string
	for c, name := range clipClasses {
		index = append(index, fmt.Sprintf(`"%d": ["n%d", "%s"]`, c, c, name))
	}
	w.write(t, "classes.json", "{"+strings.Join(index, ", ")+"}")
	w.write(t, "templates.txt", "a photo of a {}\nthe {}\nart of a {}\none {} in the dark\n")
	for i := range n {
		w.picture(t, fmt.Sprintf("images/n%d/%d.png", i%len(clipClasses), i), i)
	}
	w.cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images"}}
	w.cfg.Advice = []part.AdviceConfig{w.prompts("one", 0, 1), w.prompts("three", 0.1, 3)}
	w.cfg.Experts = []part.ExpertConfig{{Name: "clip", Kind: "clip", Settings: map[string]any{"model": "clip", "classes": "classes.json"}}}
	w.cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 2}}, {Kind: "expert", Settings: map[string]any{"expert": "clip"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 8, 4, 2
	return w
}

// prompts is a level of the first templates, the third one in front.
func (w *world) prompts(name string, fee float64, count int) part.AdviceConfig {
	return part.AdviceConfig{Name: name, Fee: fee, Kind: "prompts", Settings: map[string]any{
		"templates": "templates.txt", "first": []string{"art of a {}"}, "count": count,
	}}
}

// folder makes a folder of the world and returns its path.
func (w *world) folder(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}

// picture writes an image that is no square.
func (w *world) picture(t testing.TB, name string, seed int) {
	t.Helper()
	w.folder(t, filepath.Dir(name))
	r, img := rand.New(rand.NewPCG(uint64(seed), 5)), image.NewRGBA(image.Rect(0, 0, 40, 36))
	for i := range img.Bounds().Dx() * img.Bounds().Dy() {
		v := r.Uint32()
		img.Set(i%40, i/40, color.RGBA{R: uint8(v), G: uint8(v >> 8), B: uint8(v >> 16), A: 255})
	}
	f, err := os.Create(filepath.Join(w.dir, name))
	if err == nil {
		err = png.Encode(f, img)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openClip makes the first expert of a configuration, ready to answer, and loads
// the first instances.
func openClip(t testing.TB, w *world, experts string, instances int) (*clip, []part.Instance) {
	t.Helper()
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Runtime: openRuntime(t), Experts: experts, Progress: progress.Silent{}}
	p, err := newPlan(t.Context(), &w.cfg, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	e := p.Experts[0].Expert.(*clip)
	if err := e.Prepare(t.Context(), p.preparation(experts, "", nil, &o)); err != nil {
		t.Fatal(err)
	}
	rows := make([]int, instances)
	for i := range rows {
		rows[i] = i
	}
	batch, err := p.Source.Load(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if batch, err = part.Sized(batch, nil); err != nil {
		t.Fatal(err)
	}
	return e, batch
}

// clipLogitsOf are instances x families x classes.
func clipLogitsOf(t testing.TB, w *world, experts string, instances int) []float32 {
	t.Helper()
	e, batch := openClip(t, w, experts, instances)
	logits, err := e.logits(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}
