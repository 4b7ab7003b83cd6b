package build

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipe/costs/builder/parttest"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/progress"
	"pipe/onnx"
)

// expertLaws is what every expert has to hold, whatever it is: answers follow
// their instances, a level does not depend on the others being asked, levels
// that are not asked stay silent, probabilities sum to one.
func expertLaws(t *testing.T, e part.Expert, batch []part.Instance, shown [][]part.Shown) {
	t.Helper()
	ctx := context.Background()
	all, err := e.Predict(ctx, batch, shown)
	if err != nil {
		t.Fatal(err)
	}
	for k := range shown {
		alone := make([][]part.Shown, len(shown))
		alone[k] = shown[k]
		got, err := e.Predict(ctx, batch, alone)
		if err != nil || !reflect.DeepEqual(got[k], all[k]) {
			t.Errorf("level %d alone: %v; answers differ from all levels at once", k, err)
		}
		for other := range shown {
			if other != k && got[other] != nil {
				t.Errorf("level %d was not asked and answered", other)
			}
		}
	}
	reversed, levels := make([]part.Instance, len(batch)), make([][]part.Shown, len(shown))
	for n := range batch {
		reversed[len(batch)-1-n] = batch[n]
		for k := range shown {
			levels[k] = append(levels[k], shown[k][len(batch)-1-n])
		}
	}
	back, err := e.Predict(ctx, reversed, levels)
	if err != nil {
		t.Fatal(err)
	}
	for k := range shown {
		for n := range batch {
			if !sameAnswer(back[k][len(batch)-1-n], all[k][n]) {
				t.Errorf("level %d: the answer for %q depends on its place", k, batch[n].ID)
			}
		}
	}
}

// sameAnswer allows probabilities the rounding of another batch.
func sameAnswer(a, b part.Prediction) bool {
	sum := 0.0
	for i, p := range a.Probabilities {
		if math.Abs(float64(p-b.Probabilities[i])) > 1e-6 {
			return false
		}
		sum += float64(p)
	}
	return a.Label == b.Label && a.Loss == b.Loss && a.Fee == b.Fee && (a.Probabilities == nil || math.Abs(sum-1) < 1e-5)
}

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
		writePNG(t, filepath.Join(w.dir, "images", label, fmt.Sprintf("%02d.png", i)), m)
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

func writePNG(t *testing.T, file string, m image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, m); err != nil {
		t.Fatal(err)
	}
}

// plan makes the parts of a world's configuration.
func (w *world) plan(t *testing.T) *plan {
	t.Helper()
	p, err := newPlan(context.Background(), &w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: w.dir, Experts: filepath.Join(w.dir, "experts"), Progress: progress.Silent{}, Runtime: openRuntime(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// checkLaws runs expertLaws on every expert of a plan that takes all advice.
func checkLaws(t *testing.T, p *plan) {
	t.Helper()
	batch, err := p.Source.Load(context.Background(), p.rows(0))
	if err != nil {
		t.Fatal(err)
	}
	shown := make([][]part.Shown, len(p.Levels))
	for k, a := range p.Levels {
		if shown[k], err = a.Advice.Show(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range p.Experts {
		expertLaws(t, e.Expert, batch, shown)
	}
}

func TestImageClassifier(t *testing.T) {
	for name, axis := range map[string]onnx.Dim{"free batch": onnx.Sym("n"), "batch of 1": onnx.Fix(1), "batch of 4": onnx.Fix(4)} {
		t.Run(name, func(t *testing.T) {
			w := imageWorld(t, axis)
			checkLaws(t, w.plan(t))
			if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Runtime: openRuntime(t)}); err != nil {
				t.Fatal(err)
			}
			tensor, err := costs.Read(w.out(), costs.ReadOptions{})
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

// tableWorld asks a linear classifier over x and y - 3, whose second column
// only the second level reveals.
func tableWorld(t *testing.T) *world {
	w := newWorld(t, 30)
	parttest.LinearModel(t, filepath.Join(w.dir, "net.onnx"), onnx.Shape{onnx.Sym("n"), onnx.Fix(4)},
		[][]float32{{0, 1, 0}, {2, 0, 0}, {0, 0, 0}, {1, 0, 0}})
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "base", Kind: "columns", Settings: map[string]any{"reveal": []string{"x"}}},
		{Name: "all", Fee: 1, Kind: "columns", Settings: map[string]any{"reveal": []string{"y"}, "extends": "base"}},
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "net", Kind: "onnx_table", Settings: map[string]any{
		"model": "net.onnx", "columns": []string{"x", "y"}, "mean": []float64{0, 1}, "std": []float64{1, 0.5},
		"hidden": -1, "indicators": true, "scores": "logits",
	}}}
	return w
}

func TestTableClassifierSeesWhatIsRevealed(t *testing.T) {
	w := tableWorld(t)
	p := w.plan(t)
	checkLaws(t, p)
	batch, err := p.Source.Load(context.Background(), []int{8})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Experts[0].Expert.(*tableClassifier)
	for k, want := range [][]float32{{8, -1, 1, 0}, {8, 0, 1, 1}} {
		shown, err := p.Levels[k].Advice.Show(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 4)
		if err := e.fill(got, &batch[0], shown[0].Revealed); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("level %d: the classifier sees %v, %v, want %v", k, got, err, want)
		}
	}
}

func TestPrecomputedKeepsTheLaws(t *testing.T) {
	w := newWorld(t, 20)
	w.cfg.Experts = w.cfg.Experts[:1]
	checkLaws(t, w.plan(t))
}

func TestSoftmaxIsStable(t *testing.T) {
	row := []float32{1000, 1001, -1e30}
	softmax(row)
	if math.Abs(float64(row[1])-1/(1+math.Exp(-1))) > 1e-6 || row[2] != 0 {
		t.Errorf("got %v", row)
	}
	if argmax([]float32{1, 3, 3}) != 1 {
		t.Error("a tie does not go to the first")
	}
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
		"fine grid":    {func(w *world) { w.cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 200}}} }, "do not fill a grid"},
		"other labels": {func(w *world) { w.cfg.Experts[0].Settings["labels"] = []string{"left", "rigth"} }, `label "right" is not among them`},
		"pictures": {func(w *world) {
			writePNG(t, filepath.Join(w.dir, "images", "left", "99.png"), image.NewNRGBA(image.Rect(0, 0, 5, 5)))
		}, `instance "left/99.png": image is 5 x 5 pixels`},
		"truncated": {func(w *world) {
			w.write(t, "images/left/98.png", readBytes(t, filepath.Join(w.dir, "images/left/00.png"))[:60])
		}, "98.png"},
		"flat folder": {func(w *world) { w.cfg.Instances.Settings["folder"] = "images/left" }, "no class folder"},
		"no pictures": {func(w *world) { w.cfg.Instances.Settings["folder"] = "images/up" }, "images/up"},
	} {
		t.Run(name, func(t *testing.T) {
			w := imageWorld(t, onnx.Sym("n"))
			c.change(w)
			_, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Runtime: openRuntime(t)})
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
		listed.String() + "77.png,left\n":                         `77.png: there is no such image, but row 8 of labels.csv names it`,
		strings.Replace(listed.String(), "04.png,right\n", "", 1): `04.png: has no row in labels.csv`,
	} {
		w.write(t, "labels.csv", text)
		if _, err := newPlan(context.Background(), &w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: w.dir, Experts: filepath.Join(w.dir, "experts"), Progress: progress.Silent{}}); err == nil || !strings.Contains(err.Error(), want) {
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
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Runtime: openRuntime(t)}
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
