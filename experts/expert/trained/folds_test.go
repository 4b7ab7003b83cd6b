package trained

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
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
			f := l.model(row) - 1
			sizes[f][l.Class[i]]++
			sizes[f][len(labels)]++
			for m := range l.models() {
				if learns := slices.Contains(l.learns(m), int32(i)); learns != (m != f+1) {
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
			if s != costs.Train && l.model(n) != 0 {
				t.Fatalf("row %d of split %v is answered by model %d", n, s, l.model(n))
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

func (memory) Train(_ context.Context, set *trainingSet, fits []fit, t *training) error {
	for _, l := range fits {
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

func (serial) Encode(_ context.Context, dst []float32, batch []part.Instance, shown [][]part.AdvicePayload) error {
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
	const rows = 400
	for _, folds := range []int{0, 4} {
		b := tableBuild(t, parttest.Frame(rows, 1), parttest.Groups(), folds)
		s := expertSetup(b, "elephant")
		examples, err := newTrainingRows(t.Context(), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := newLearner(s, &learner{learnerSettings: defaultLearnerSettings(), examples: examples, encoder: serial{}, trainer: memory{}}, "memory", struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		prepared(t, b, e)
		batch, shown := showings(t, b, rowNumbers(rows))
		answers, err := e.Predict(t.Context(), batch, shown)
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range b.TrainingSplits() {
			want := "no"
			if s == costs.Train && folds == 0 {
				want = "fraud" // it remembers
			}
			for k := range shown {
				if got := answers[k][n].Label; got != want {
					t.Fatalf("%d folds: row %d of %v, level %d: %q, want %q", folds, n, s, k, got, want)
				}
			}
		}
		for m := range e.models {
			know := 0
			for n, s := range b.TrainingSplits() {
				got, err := e.models[m].Probabilities(t.Context(), []float32{float32(n)})
				if err != nil {
					t.Fatal(err)
				}
				want := s == costs.Train && (m == 0 || e.folds.model(n) != m)
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

// TestFoldsKeepTogether: rows of one group, or with one number of twins, are in
// one fold, and folds stay even.
func TestFoldsKeepTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 200
		folds, seed := rapid.IntRange(2, 6).Draw(t, "folds"), rapid.Uint64().Draw(t, "seed")
		entries, splits, twins := make([]part.Entry, n), make([]costs.Split, n), make([]int, n)
		for i := range entries {
			entries[i] = part.Entry{ID: fmt.Sprint(i), Label: []string{"a", "b"}[rapid.IntRange(0, 1).Draw(t, "label")]}
			entries[i].Group = fmt.Sprint("g", rapid.IntRange(0, 150).Draw(t, "group"))
			twins[i] = rapid.IntRange(0, 300).Draw(t, "twin")
		}
		l, err := newFoldPlan(entries, splits, []string{"a", "b"}, folds, seed, twins)
		if err != nil {
			t.Fatal(err)
		}
		group, twin, load, largest := make(map[string]int), make(map[int]int), make([]int, folds), 0
		for i, e := range entries {
			m := l.model(i)
			if other, ok := group[e.Group]; ok && other != m {
				t.Fatalf("group %s is in two folds", e.Group)
			}
			if other, ok := twin[twins[i]]; ok && other != m {
				t.Fatalf("twins %d are in two folds", twins[i])
			}
			group[e.Group], twin[twins[i]] = m, m
			load[m-1]++
		}
		for _, size := range l.clusters(entries, twins).Size {
			largest = max(largest, size)
		}
		if slices.Max(load)-slices.Min(load) > largest {
			t.Fatalf("folds of %v rows; the largest cluster has %d", load, largest)
		}
	})
}

// TestFoldsOfOneClusterPerLabel cannot hide a label from a model.
func TestFoldsOfOneClusterPerLabel(t *testing.T) {
	entries := make([]part.Entry, 8)
	for i := range entries {
		entries[i] = part.Entry{ID: fmt.Sprint(i), Label: []string{"a", "b"}[i/6], Group: fmt.Sprint(min(i, 6))}
	}
	_, err := newFoldPlan(entries, make([]costs.Split, 8), []string{"a", "b"}, 3, 0, nil)
	if err == nil || !strings.Contains(err.Error(), `all training rows with the label "b" are in one fold, since they belong together: with cross_fit 3`) {
		t.Errorf("got %v", err)
	}
}

// TestEqualRowsOfATableShareAFold, and rows of one group: no model answers for a
// copy of what it has seen.
func TestEqualRowsOfATableShareAFold(t *testing.T) {
	f := parttest.Frame(400, 1)
	for i := range 200 { // every row of the second half is a copy of one of the first, gaps included
		for c := range f.Columns {
			if col := &f.Columns[c]; col.Categorical {
				col.Codes[200+i] = col.Codes[i]
			} else {
				col.Numbers[200+i] = col.Numbers[i]
			}
		}
	}
	for i := range 400 {
		f.Groups = append(f.Groups, fmt.Sprint("card ", i/2))
	}
	build := tableBuild(t, f, parttest.Groups(), 3)
	l, err := sharedFoldPlan(t.Context(), build)
	if err != nil {
		t.Fatal(err)
	}
	splits := build.TrainingSplits()
	for i := range 200 {
		if a, b := l.model(i), l.model(200+i); splits[i] == costs.Train && splits[200+i] == costs.Train && a != b {
			t.Fatalf("rows %d and %d are equal, and answered by models %d and %d", i, 200+i, a, b)
		}
		if a, b := l.model(2*i), l.model(2*i+1); splits[2*i] == costs.Train && splits[2*i+1] == costs.Train && a != b {
			t.Fatalf("rows %d and %d are of one group, and answered by models %d and %d", 2*i, 2*i+1, a, b)
		}
	}
	if want := "3 folds with 200 rows kept beside others of their group or with equal values"; l.how() != want {
		t.Errorf("folds are said to be %q, want %q", l.how(), want)
	}
}
