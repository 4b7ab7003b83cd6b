package builder

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx"
)

// imageWorld is a folder of tiny pictures and a network that sees whether the
// left half is brighter than the right one.
func imageWorld(t *testing.T, batchAxis onnx.Dim) *world {
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	for i := range 12 {
		label := []string{"left", "right"}[i%2]
		m := image.NewNRGBA(image.Rect(0, 0, 4, 2))
		for p := range 8 {
			x := p % 4
			v := uint8(20 + 5*i)
			if (x < 2) == (label == "left") {
				v += 100
			}
			m.SetNRGBA(x, p/4, color.NRGBA{R: v, G: v, B: v, A: 255})
		}
		parttest.WritePNG(t, filepath.Join(w.dir, "images", label, fmt.Sprintf("%02d.png", i)), m)
	}
	var weights [][]float32
	for i := range 24 {
		sign := float32(1)
		if i%4 >= 2 {
			sign = -1
		}
		weights = append(weights, []float32{sign, -sign})
	}
	parttest.LinearModel(t, filepath.Join(w.dir, "net.onnx"), onnx.Shape{batchAxis, onnx.Fix(3), onnx.Fix(2), onnx.Fix(4)}, weights)
	w.cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images", "limits": map[string]any{"min_side": 1}}}
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "plain", Kind: "none"},
		{Name: "mirror", Fee: 0.1, Kind: "views", Settings: map[string]any{"views": []string{"mirror"}}},
		{Name: "both", Fee: 0.2, Kind: "views", Settings: map[string]any{"views": []string{"centre", "mirror"}}},
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "net", Kind: "onnx_image", Settings: map[string]any{"model": "net.onnx", "batch": 5}}}
	w.cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 2}}, {Kind: "expert", Settings: map[string]any{"expert": "net"}}}
	w.cfg.Shard, w.cfg.Batch = 5, 2
	return w
}

// plan makes the parts of a world's configuration.
func (w *world) plan(t *testing.T) *plan {
	t.Helper()
	p, err := newPlan(context.Background(), &w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: storage.File(w.dir), Experts: storage.File(filepath.Join(w.dir, "experts")).String(), Progress: progress.Silent{}, Runtime: openRuntime(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// checkLaws runs parttest.ExpertLaws on every expert of a plan that takes all advice.
func checkLaws(t *testing.T, p *plan) {
	t.Helper()
	batch, err := p.Source.Load(context.Background(), p.rows(0))
	if err != nil {
		t.Fatal(err)
	}
	shown := make([][]part.AdvicePayload, len(p.Levels))
	for k, a := range p.Levels {
		if shown[k], err = a.Advice.Show(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range p.Experts {
		parttest.ExpertLaws(t, e.Expert, batch, shown)
	}
}

func TestImageClassifier(t *testing.T) {
	for name, axis := range map[string]onnx.Dim{"free batch": onnx.Sym("n"), "batch of 1": onnx.Fix(1), "batch of 4": onnx.Fix(4)} {
		t.Run(name, func(t *testing.T) {
			w := imageWorld(t, axis)
			checkLaws(t, w.plan(t))
			if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}); err != nil {
				t.Fatal(err)
			}
			tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for n, id := range tensor.IDs {
				// The network is right on the picture, wrong on its mirror, and of two minds about both: the first label wins.
				both := float32(0)
				if strings.HasPrefix(id, "right") {
					both = 1
				}
				if got := [3]float32(tensor.Losses(n)); got != [3]float32{0, 1, both} {
					t.Errorf("%s loses %v", id, got)
				}
				left, right := tensor.Row(n)[12], tensor.Row(n)[13]
				if (left > right) != strings.HasPrefix(id, "left") {
					t.Errorf("%s: probabilities %v and %v", id, left, right)
				}
			}
		})
	}
}

func TestPrecomputedKeepsTheLaws(t *testing.T) {
	w := newWorld(t, 20)
	w.cfg.Experts = w.cfg.Experts[:1]
	checkLaws(t, w.plan(t))
}

// TestModelsThatDoNotFit: every misfit is one error that names the model.
func TestModelsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"labels":       {func(w *world) { w.cfg.Labels = []string{"left", "right", "up"} }, "for 3 labels"},
		"layout":       {func(w *world) { w.cfg.Experts[0].Settings["layout"] = "nhwc" }, "takes rows of shape"},
		"missing":      {func(w *world) { w.cfg.Experts[0].Settings["model"] = "gone.onnx" }, "gone.onnx"},
		"not a model":  {func(w *world) { w.cfg.Experts[0].Settings["model"] = "images/left/00.png" }, "00.png"},
		"output":       {func(w *world) { w.cfg.Experts[0].Settings["output"] = "logits" }, `"logits"`},
		"deviation":    {func(w *world) { w.cfg.Experts[0].Settings["std"] = []float64{1, 0, 1} }, "deviation 0"},
		"two means":    {func(w *world) { w.cfg.Experts[0].Settings["mean"] = []float64{1, 0} }, "mean has 2 values"},
		"four stds":    {func(w *world) { w.cfg.Experts[0].Settings["std"] = []float64{1, 1, 1, 1} }, "std 4"},
		"fine grid":    {func(w *world) { w.cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 200}}} }, "are too few for a grid"},
		"other labels": {func(w *world) { w.cfg.Experts[0].Settings["labels"] = []string{"left", "rigth"} }, `label "right" of the instances is missing`},
		"pictures": {func(w *world) {
			parttest.WritePNG(t, filepath.Join(w.dir, "images", "left", "99.png"), image.NewNRGBA(image.Rect(0, 0, 5, 5)))
		}, `instance "left/99.png": the image has 5 x 5 pixels`},
		"truncated": {func(w *world) {
			w.write(t, "images/left/98.png", readBytes(t, filepath.Join(w.dir, "images/left/00.png"))[:60])
		}, "98.png"},
		"flat folder": {func(w *world) { w.cfg.Instances.Settings["folder"] = "images/left" }, "not in a class folder"},
		"no pictures": {func(w *world) { w.cfg.Instances.Settings["folder"] = "images/up" }, "images/up"},
	} {
		t.Run(name, func(t *testing.T) {
			w := imageWorld(t, onnx.Sym("n"))
			c.change(w)
			_, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			var data *costs.DataError
			var part *PartError
			if !errors.As(err, &data) && !errors.As(err, &part) {
				t.Errorf("%v is no error about the input", err)
			}
			if _, err := os.Stat(w.out()); err == nil {
				t.Error("an output is left")
			}
		})
	}
}

// TestFlatFolderTakesLabelsFromATable also checks both ways of not matching.
func TestFlatFolderTakesLabelsFromATable(t *testing.T) {
	w := imageWorld(t, onnx.Sym("n"))
	w.cfg.Instances.Settings = map[string]any{"folder": "images/left", "labels": "labels.csv", "limits": map[string]any{"min_side": 1}}
	w.cfg.Labels = []string{"left", "right"}
	var listed strings.Builder
	listed.WriteString("id,label\n")
	for i := 0; i < 12; i += 2 {
		fmt.Fprintf(&listed, "%02d.png,right\n", i)
	}
	w.write(t, "labels.csv", listed.String())
	if p := w.plan(t); p.Source.Entries()[3].Label != "right" || len(p.Source.Entries()) != 6 {
		t.Errorf("entries %v", p.Source.Entries())
	}
	for text, want := range map[string]string{
		listed.String() + "77.png,left\n":                         `77.png: does not exist, but is in row 8 of labels.csv`,
		strings.Replace(listed.String(), "04.png,right\n", "", 1): `04.png: has no row in labels.csv`,
	} {
		w.write(t, "labels.csv", text)
		if _, err := newPlan(context.Background(), &w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: storage.File(w.dir), Experts: storage.File(filepath.Join(w.dir, "experts")).String(), Progress: progress.Silent{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestExternalDataIsAnInput changes the file that a model keeps its weights in.
func TestExternalDataIsAnInput(t *testing.T) {
	w := imageWorld(t, onnx.Sym("n"))
	file := filepath.Join(w.dir, "net.onnx")
	m, err := onnx.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteExternal(file, 64); err != nil {
		t.Fatal(err)
	}
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}
	if _, err := Run(context.Background(), w.cfg, o); err != nil {
		t.Fatal(err)
	}
	weights := []byte(readBytes(t, file+".data"))
	weights[0] ^= 1
	w.write(t, "net.onnx.data", string(weights))
	want := `model data net.onnx.data of expert "net" changed`
	if _, err := Run(context.Background(), w.cfg, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
