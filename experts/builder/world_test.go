package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/kinds"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx/ort"
)

// world is a small table with precomputed answers in a folder of its own.
type world struct {
	dir   string
	cfg   part.Config
	kinds *part.Kinds     // beside the built-in ones; nil: none
	words *parttest.Words // that stands for every encoder of texts; nil: none does
}

// addExpert adds a kind of expert to the world's, or takes the place of a built-in one.
func (w *world) addExpert(kind string, create part.NewExpert) {
	if w.kinds == nil {
		w.kinds = &part.Kinds{Experts: make(map[string]part.NewExpert)}
	}
	w.kinds.Experts[kind] = create
}

// allKinds are the kinds that the world's configuration may name.
func (w *world) allKinds() *part.Kinds {
	if w.kinds == nil {
		return kinds.Builtin()
	}
	return kinds.Builtin().With(w.kinds)
}

// openText opens the world's words in the place of an encoder of texts.
func (w *world) openText(rt *ort.Runtime, name string) (part.TextEncoder, error) {
	if w.words == nil {
		return featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
	}
	return w.words, nil
}

// newWorld writes n instances with two numeric columns, and answers of two
// experts: one under both levels with a measured fee, one without advice only.
func newWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	instances, answers := &strings.Builder{}, &strings.Builder{}
	fmt.Fprintln(instances, "id,label,split,x,y")
	fmt.Fprintln(answers, "id,expert,advice,prediction,fee")
	labels := []string{"cat", "dog", "owl"}
	for i := range n {
		split := "train"
		if i%4 == 3 {
			split = "val"
		}
		fmt.Fprintf(instances, "r%d,%s,%s,%d,%g\n", i, labels[i%3], split, i, float64(i)/8)
		fmt.Fprintf(answers, "r%d,both,none,%s,0\n", i, labels[i%2])
		fmt.Fprintf(answers, "r%d,both,search,%s,0.25\n", i, labels[i%3])
		fmt.Fprintf(answers, "r%d,plain,none,%s,0\n", i, labels[(i+1)%3])
	}
	w.write(t, "instances.csv", instances.String())
	w.write(t, "answers.csv", answers.String())
	w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "instances.csv", "split": "split"}}
	w.cfg.Split = part.Part{Kind: "column"}
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}, {Name: "search", Fee: 0.5, Kind: "none"}}
	source := map[string]any{"file": "answers.csv", "expert": "expert", "advice": "advice", "prediction": "prediction"}
	metered := map[string]any{"measured_fee": "fee"}
	for k, v := range source {
		metered[k] = v
	}
	w.cfg.Experts = []part.ExpertConfig{
		{Name: "both", Fee: 0.1, Kind: "precomputed", Settings: metered},
		{Name: "plain", Fee: 0.2, Kind: "precomputed", Settings: source},
	}
	w.cfg.Features = []part.Part{{Kind: "columns", Settings: map[string]any{"columns": []string{"y", "x"}}}}
	w.cfg.Shard, w.cfg.Batch = 8, 3
	return w
}

func (w *world) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (w *world) edit(t testing.TB, name, from, to string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		t.Fatalf("%s does not hold %q", name, from)
	}
	w.write(t, name, strings.Replace(string(b), from, to, 1))
}

func (w *world) out() string { return filepath.Join(w.dir, "out.parquet") }

func (w *world) run(ctx context.Context) (*Report, error) {
	return Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)})
}

// mustRun builds and returns the tensor.
func (w *world) mustRun(t testing.TB) (*Report, *costs.Tensor) {
	t.Helper()
	r, err := w.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r, tensor
}

func readBytes(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
