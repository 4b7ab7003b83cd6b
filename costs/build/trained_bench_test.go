package build

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"pipe/costs/builder/part"
	"pipe/featurize/tabular"
	"pipe/models/lightgbm"
)

// keeper is a trainer that looks over another's shoulder: it runs look while
// the trainer's own model is still there.
type keeper struct {
	trainer
	look func(set *trainingSet, c *classifier)
}

func (k keeper) Train(ctx context.Context, set *trainingSet, lessons []fit, t *training) error {
	done := t.Done
	t.Done = func(l fit, c *classifier) error {
		err := done(l, c)
		k.look(set, c)
		return err
	}
	return k.trainer.Train(ctx, set, lessons, t)
}

// newWideWorld is one expert of trees over n rows of five groups of numbers,
// about as wide as the fraud table.
func newWideWorld(b *testing.B, n, width int) *world {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 3))
	w := &world{dir: b.TempDir(), cfg: part.DefaultConfig()}
	f := testFrame(n, 1)
	f.Columns = nil
	var list []tabular.Group
	for g := range 5 {
		name := fmt.Sprintf("g%d", g)
		list = append(list, tabular.Group{Name: name, Numeric: []string{fmt.Sprintf("%s_1-%s_%d", name, name, width)}})
		for c := range width {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(r.NormFloat64()) + float32(f.Labels[i])*float32(c%4)/8
				if (i+c/20)%10 < 3 {
					v[i] = float32(math.NaN())
				}
			}
			f.Columns = append(f.Columns, tabular.FrameColumn{Name: fmt.Sprintf("%s_%d", name, c+1), Group: g, Numbers: v})
		}
		w.cfg.Advice = append(w.cfg.Advice, part.AdviceConfig{Name: name, Fee: 0.01 * float64(g), Kind: "groups", Settings: map[string]any{"through": name}})
	}
	writeTable(b, filepath.Join(w.dir, "table.parquet"), f, list)
	w.cfg.Instances = part.Part{Kind: "tabular", Settings: map[string]any{"file": "table.parquet"}}
	w.cfg.Split, w.cfg.CrossFit = part.Part{Kind: "column"}, 0
	w.cfg.Experts = []part.ExpertConfig{{Name: "trees", Kind: "boosted_trees", Settings: map[string]any{"threads": 1}}}
	w.cfg.Features = []part.Part{{Kind: "groups", Settings: map[string]any{"groups": []string{"g0"}}}}
	return w
}

// BenchmarkTrees predicts a batch of rows with the exported file, on one
// thread, and with LightGBM's own C prediction of the same trees, on one. The
// library is asked once per row and level; so is the file, in one call.
func BenchmarkTrees(b *testing.B) {
	if _, err := lightgbm.Open(""); err != nil {
		b.Skip(err)
	}
	w := newWideWorld(b, 8000, 80)
	o := w.options(b)
	p, out, err := prepare(b.Context(), &w.cfg, &o)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	work, err := openWork(out)
	if err != nil {
		b.Fatal(err)
	}
	defer work.Close()
	rate := func(b *testing.B, rows int) {
		b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	}
	e := p.Experts[0].Expert.(*trained)
	e.trainer = keeper{e.trainer, func(set *trainingSet, c *classifier) {
		rows := set.sample(2560)
		b.Run("lightgbm", func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Probability(rows); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, 2560)
		})
	}}
	if err := p.prepare(b.Context(), work, nil, &o); err != nil {
		b.Fatal(err)
	}
	rows := make([]int, 512)
	for i := range rows {
		rows[i] = i
	}
	batch, err := p.Source.Load(b.Context(), rows)
	if err != nil {
		b.Fatal(err)
	}
	shown := make([][]part.Shown, len(p.Levels))
	for k := range shown {
		if shown[k], err = p.show(b.Context(), k, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("onnx", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Predict(b.Context(), batch, shown); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 512*len(shown))
	})
}
