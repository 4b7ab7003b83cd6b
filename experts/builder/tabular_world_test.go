package builder

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
)

// newTabularWorld writes a table of n rows and configures one logistic expert
// over its three groups.
func newTabularWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	parttest.WriteTable(t, filepath.Join(w.dir, "table.parquet"), parttest.Frame(n, 1), parttest.Groups())
	w.cfg.Instances = part.Part{Kind: "tabular", Settings: map[string]any{"file": "table.parquet"}}
	w.cfg.Split = part.Part{Kind: "column"}
	for i, g := range parttest.Groups() {
		w.cfg.Advice = append(w.cfg.Advice, part.AdviceConfig{
			Name: g.Name, Fee: 0.1 * float64(i), Kind: "groups", Settings: map[string]any{"through": g.Name},
		})
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "linear", Fee: 0.02, Kind: "logistic", Settings: map[string]any{"epochs": 4, "batch": 64}}}
	w.cfg.Features = []part.Part{{Kind: "groups", Settings: map[string]any{"groups": []string{"base"}}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.CrossFit = 128, 32, 3
	return w
}

// options of a build of the world with a runtime.
func (w *world) options(t testing.TB) Options {
	return Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}
}

// build runs the world with a runtime and reads the tensor.
func (w *world) build(t testing.TB) (*Report, *costs.Tensor) {
	t.Helper()
	r, err := Run(context.Background(), w.cfg, w.options(t))
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r, tensor
}

func (w *world) expertFile(name string) string { return filepath.Join(w.dir, "experts", name+".onnx") }

// TestTabularLoadReadsWhatIsAskedFor asks for rows in any order.
func TestTabularLoadReadsWhatIsAskedFor(t *testing.T) {
	const n = 700
	w := newTabularWorld(t, n)
	p := w.learnt(t)
	f := parttest.Frame(n, 1)
	r := rand.New(rand.NewPCG(4, 4))
	asked := [][]int{{0}, {n - 1}, {5, 6, 7}, {7, 6, 5}, {3, 3}, {0, 64, 129, 300}}
	for range 20 {
		rows := r.Perm(n)[:50]
		if r.IntN(2) == 0 {
			slices.Sort(rows)
		}
		asked = append(asked, rows)
	}
	columns := p.Source.(part.EncodedSource).Encoder().Columns()
	at := slices.IndexFunc(columns, func(c tabular.Column) bool { return c.Name == "serial" })
	for _, rows := range asked {
		got, err := p.Source.Load(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if in := got[i]; in.Row != row || in.ID != f.IDs[row] || in.Values[at] != float32(row) || len(in.Values) != len(columns) {
				t.Fatalf("asked for row %d of %v, got %+v", row, rows, in)
			}
		}
	}
}
