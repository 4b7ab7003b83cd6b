package trained

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/tabular"
	"pipe/models/lightgbm"
)

// keeper is a trainer that runs look while the model of another trainer is still open.
type keeper struct {
	trainer
	look func(set *trainingSet, c *classifier)
}

func (k keeper) Train(ctx context.Context, set *trainingSet, fits []fit, t *training) error {
	done := t.Done
	t.Done = func(l fit, c *classifier) error {
		err := done(l, c)
		k.look(set, c)
		return err
	}
	return k.trainer.Train(ctx, set, fits, t)
}

// wideBuild is a build over n rows of five groups of numbers, about as wide as the fraud table.
func wideBuild(b *testing.B, n, width int) *part.Build {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 3))
	f := parttest.Frame(n, 1)
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
	}
	return tableBuild(b, f, list, 0)
}

// BenchmarkTrees predicts a batch of rows with the exported file, on one
// thread, and with LightGBM's own C prediction of the same trees, on one. The
// library is asked once per row and level; so is the file, in one call.
func BenchmarkTrees(b *testing.B) {
	if _, err := lightgbm.Open(""); err != nil {
		b.Skip(err)
	}
	build := wideBuild(b, 8000, 80)
	made, err := newBoostedTrees(b.Context(), expertSetup(build, "trees"), map[string]any{"threads": 1})
	if err != nil {
		b.Fatal(err)
	}
	rate := func(b *testing.B, rows int) {
		b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	}
	e := made.(*learner)
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
	prepared(b, build, e)
	batch, shown := showings(b, build, rowNumbers(512))
	b.Run("onnx", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Predict(b.Context(), batch, shown); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 512*len(shown))
	})
}
