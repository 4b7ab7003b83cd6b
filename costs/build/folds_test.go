package build

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/featurize/tabular"
	"pipe/onnx"
)

// TestFoldsDealEveryLabelEvenly draws builds and checks what folds promise.
func TestFoldsDealEveryLabelEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folds := rapid.IntRange(2, 6).Draw(t, "folds")
		labels := []string{"a", "b", "c"}[:rapid.IntRange(2, 3).Draw(t, "labels")]
		var entries []part.Entry
		var splits []costs.Split
		add := func(label string, s costs.Split) {
			entries, splits = append(entries, part.Entry{ID: fmt.Sprint(len(entries)), Label: label}), append(splits, s)
		}
		for _, l := range labels { // folds need two of each
			add(l, costs.Train)
			add(l, costs.Train)
		}
		for _, c := range rapid.SliceOfN(rapid.IntRange(0, 99), 20, 200).Draw(t, "rows") {
			add(labels[c%len(labels)], []costs.Split{costs.Train, costs.Train, costs.Val}[c/10%3])
		}
		l, err := newFoldPlan(entries, splits, labels, folds, rapid.Uint64().Draw(t, "seed"), nil)
		if err != nil {
			t.Fatal(err)
		}
		sizes := make([][]int, folds)
		for f := range sizes {
			sizes[f] = make([]int, len(labels)+1)
		}
		for i, row := range l.Rows {
			f := l.Model(row) - 1
			sizes[f][l.Class[i]]++
			sizes[f][len(labels)]++
			for m := range l.Models() {
				if learns := slices.Contains(l.Learns(m), int32(i)); learns != (m != f+1) {
					t.Fatalf("model %d learns row %d, which model %d answers: %t", m, row, f+1, learns)
				}
			}
		}
		for c := range len(labels) + 1 {
			least, most := len(entries), 0
			for f := range sizes {
				least, most = min(least, sizes[f][c]), max(most, sizes[f][c])
			}
			if most-least > 1 {
				t.Fatalf("class %d: folds %v", c, sizes)
			}
		}
		for n, s := range splits {
			if s != costs.Train && l.Model(n) != 0 {
				t.Fatalf("row %d of split %v is answered by model %d", n, s, l.Model(n))
			}
		}
	})
}

func TestFoldsNeedEveryLabel(t *testing.T) {
	entries := []part.Entry{{ID: "0", Label: "no"}, {ID: "1", Label: "no"}, {ID: "2", Label: "yes"}, {ID: "3", Label: "yes"}, {ID: "4"}}
	for name, c := range map[string]struct {
		splits string // t or v
		folds  int
		want   string
	}{
		"fine":            {"ttttv", 2, ""},
		"one class":       {"ttvvv", 0, `no training row has the label "yes"; an expert cannot learn from "no" alone`},
		"one row":         {"tttvv", 2, `1 training row has the label "yes": with cross_fit 2`},
		"one row, no fit": {"tttvv", 0, ""},
		"no rows":         {"vvvvv", 0, "there are no training rows"},
		"unlabelled":      {"ttttt", 0, `instance "4" has no label`},
	} {
		var splits []costs.Split
		for _, s := range c.splits {
			splits = append(splits, map[rune]costs.Split{'t': costs.Train, 'v': costs.Val}[s])
		}
		_, err := newFoldPlan(entries, splits, []string{"no", "yes"}, c.folds, 0, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// memory is a trainer whose models know the rows that they learnt from and
// nothing else: probability 1 if they have seen it.
type memory struct{}

func (memory) Check() error { return nil }

func (memory) Train(_ context.Context, set *trainingSet, lessons []fit, t *training) error {
	for _, l := range lessons {
		seen := set.subset(l.rows)
		g := onnx.NewGraph("memory")
		rows := g.Input("rows", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(1)})
		known := g.Const(onnx.Float32s([]int64{1, int64(seen.Len())}, seen.X))
		g.Output("probability", g.ReduceMax(g.Cast(g.Equal(rows, known), onnx.Float32), true, 1))
		m, err := g.Build(onnx.BuildOptions{})
		if err != nil {
			return err
		}
		err = t.Done(l, &classifier{Model: m, Probability: func(rows []float32) ([]float64, error) {
			p := make([]float64, len(rows))
			for i, v := range rows {
				if slices.Contains(seen.X, v) {
					p[i] = 1
				}
			}
			return p, nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// serial encodes an instance as its row number, whatever is shown of it.
type serial struct{}

func (serial) Width() int { return 1 }

func (serial) Encode(_ context.Context, dst []float32, batch []part.Instance, shown [][]part.Shown) error {
	for n := range batch {
		for _, level := range shown {
			if level != nil {
				dst[0], dst = float32(batch[n].Row), dst[1:]
			}
		}
	}
	return nil
}

// TestNoRowIsAnsweredByAModelThatSawIt lets an expert learn by heart.
func TestNoRowIsAnsweredByAModelThatSawIt(t *testing.T) {
	memorise := func(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
		cfg := defaultTrainedSettings()
		if err := s.Settings(settings, &cfg); err != nil {
			return nil, err
		}
		rows, err := newTrainingRows(ctx, s, cfg.Seed)
		if err != nil {
			return nil, err
		}
		return newTrained(s, &trained{trainedSettings: cfg, examples: rows, encoder: serial{}, trainer: memory{}}, "memory", struct{}{})
	}
	for _, folds := range []int{0, 4} {
		w := newTabularWorld(t, 400)
		w.addExpert("memory", memorise)
		w.cfg.CrossFit = folds
		w.cfg.Experts = []part.ExpertConfig{{Name: "elephant", Kind: "memory"}}
		_, tensor := w.build(t)
		for n, s := range tensor.Splits {
			want := "no"
			if s == costs.Train && folds == 0 {
				want = "fraud" // it remembers
			}
			if got := tensor.Predictions[n*3]; got != want {
				t.Fatalf("%d folds: row %d of %v: %q, want %q", folds, n, s, got, want)
			}
		}
		p := w.learnt(t)
		e := p.Experts[0].Expert.(*trained)
		for m := range e.models {
			know := 0
			for n, s := range tensor.Splits {
				got, err := e.models[m].probabilities(t.Context(), []float32{float32(n)})
				if err != nil {
					t.Fatal(err)
				}
				want := s == costs.Train && (m == 0 || e.folds.Model(n) != m)
				if (got[0] == 1) != want {
					t.Fatalf("model %d, row %d of %v: %v", m, n, s, got)
				}
				know += int(got[0])
			}
			if know < 200 {
				t.Errorf("model %d knows %d rows", m, know)
			}
		}
	}
}

// TestOversamplingEqualisesClasses checks counts, and that no row is favoured.
func TestOversamplingEqualisesClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 1}), 2, 80).Draw(t, "class")
		class = append(class, 0, 1)
		rows := make([]int32, 0, len(class))
		for i := range class {
			rows = append(rows, int32(i))
		}
		seed := rapid.Uint64().Draw(t, "seed")
		got := oversample(rows, class, 2, seed)
		times := make([]int, len(class))
		count := [2]int{}
		for _, r := range got {
			times[r]++
			count[class[r]]++
		}
		if count[0] != count[1] {
			t.Fatalf("classes have %v rows", count)
		}
		for a := range class {
			for b := range class {
				if class[a] == class[b] && times[a]-times[b] > 1 || times[a] == 0 {
					t.Fatalf("rows of one class appear %v times", times)
				}
			}
		}
		if !slices.Equal(got, oversample(rows, class, 2, seed)) {
			t.Fatal("the same seed gives other rows")
		}
	})
}

// TestLevelsAreDrawnUniformly looks at the draw over neighbouring rows and seeds.
func TestLevelsAreDrawnUniformly(t *testing.T) {
	const rows, levels = 20_000, 5
	for seed := range uint64(3) {
		var count [levels]int
		var pairs [levels][levels]int
		for n := range rows {
			l := drawLevel(seed, n, levels)
			count[l]++
			pairs[l][drawLevel(seed, n+1, levels)]++
		}
		for l := range levels {
			// Five standard deviations of a binomial count are 283 and 139.
			if d := count[l] - rows/levels; d < -283 || d > 283 {
				t.Errorf("seed %d: level %d was drawn %d times of %d", seed, l, count[l], rows)
			}
			for m := range levels {
				if d := pairs[l][m] - rows/levels/levels; d < -139 || d > 139 {
					t.Errorf("seed %d: level %d follows %d %d times", seed, m, l, pairs[l][m])
				}
			}
		}
	}
}

// TestTabularLoadReadsWhatIsAskedFor asks for rows in any order.
func TestTabularLoadReadsWhatIsAskedFor(t *testing.T) {
	const n = 700
	w := newTabularWorld(t, n)
	p := w.learnt(t)
	f := testFrame(n, 1)
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
