package lightgbm

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// small is a model text that LightGBM 4.7.0 wrote.
func small(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "small.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseGolden(t *testing.T) {
	m, err := ParseModel([]byte(small(t)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Columns != 3 || m.Sigmoid != 1 || len(m.Trees) != 2 {
		t.Fatalf("%d columns, sigmoid %v, %d trees", m.Columns, m.Sigmoid, len(m.Trees))
	}
	want := Tree{
		Splits: []Split{
			{Column: 0, Threshold: 0.51872217655181896, Missing: MissingNone, DefaultLeft: true, Left: 1, Right: 2},
			{Column: 1, Threshold: 0.48747393488883978, Missing: MissingNaN, DefaultLeft: true, Left: ^0, Right: ^2},
			{Column: 1, Threshold: 0.32906784117221838, Missing: MissingNaN, DefaultLeft: false, Left: ^1, Right: ^3},
		},
		Leaves: []float64{-0.87946434254466233, -0.69915794259576736, -0.71008302348659591, -0.58538102874699582},
	}
	if diff := cmp.Diff(want, m.Trees[0]); diff != "" {
		t.Error(diff)
	}
}

// TestParseRegression: the margin is the estimate, and there are no probabilities to export.
func TestParseRegression(t *testing.T) {
	text := strings.Replace(small(t), "objective=binary sigmoid:1", "objective=regression", 1)
	m, err := ParseModel([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if m.Objective != Regression || m.Sigmoid != 0 || len(m.Trees) != 2 {
		t.Errorf("%s, sigmoid %v, %d trees", m.Objective, m.Sigmoid, len(m.Trees))
	}
	if _, err := m.Export(); err == nil || !strings.Contains(err.Error(), "the objective is regression") {
		t.Errorf("error is %v", err)
	}
}

// TestParseInverse: reading undoes writing.
func TestParseInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		want := grown(r, 1+r.IntN(4), 1+r.IntN(20), 1+r.IntN(5))
		got, err := ParseModel([]byte(want.text()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestParseErrors(t *testing.T) {
	good := small(t)
	for _, c := range []struct{ old, new, want string }{
		{"\nend of trees", "", "end of trees"},
		{"num_class=1", "num_class=3", `num_class is "3"`},
		{"num_tree_per_iteration=1", "num_tree_per_iteration=2", "num_tree_per_iteration"},
		{"version=v4", "version=v9", `version is "v9"`},
		{"objective=binary sigmoid:1", "objective=poisson", `objective is "poisson"`},
		{"objective=binary sigmoid:1", "objective=regression sqrt", `objective is "regression sqrt"`},
		{"sigmoid:1", "sigmoid:-1", "sigmoid must be"},
		{"max_feature_idx=2", "max_feature_idx=-1", `max_feature_idx is "-1"`},
		{"label_index=0", "average_output", "random forest"},
		{"Tree=1", "Tree=7", "tree 1: is called"},
		{"num_leaves=4", "num_leaves=5", "tree 0: leaf_value has 4 values, want 5"},
		{"num_leaves=4", "num_leaves=2000000000", "tree 0: leaf_value has 4 values, want 2000000000"},
		{"num_leaves=4", "num_leaves=0", `tree 0: num_leaves is "0"`},
		{"num_cat=0", "num_cat=1", "tree 0: num_cat"},
		{"is_linear=0", "is_linear=1", "tree 0: is_linear"},
		{"split_feature=0", "split_feature=3", `tree 0: split_feature[0] is "3"`},
		{"decision_type=2", "decision_type=1", "tree 0: decision_type[0] is 1: not a split on numbers"},
		{"decision_type=2", "decision_type=14", "tree 0: decision_type[0] is 14"},
		{"threshold=0.51872217655181896", "threshold=nan", `tree 0: threshold[0] is "nan"`},
		{"leaf_value=-0.87946434254466233", "leaf_value=-inf", "tree 0: leaf_value[0] is -Inf: must be finite"},
		{"left_child=1", "left_child=0", "tree 0: left_child[0] is 0: must come after its parent"},
		{"left_child=1", "left_child=2", "tree 0: right_child[0] is 2: already the child"},
		{"left_child=1", "left_child=3", `tree 0: left_child[0] is "3": must be from`},
		{"right_child=2 -3", "right_child=2 -1", "tree 0: right_child[1] is -1: already the child"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Errorf("%q is not in the golden", c.old)
		}
		if _, err := ParseModel([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: want %q, got %v", c.new, c.old, c.want, err)
		}
	}
}

// FuzzParseModel: a model that parses can be evaluated, and is exported or refused; nothing panics.
func FuzzParseModel(f *testing.F) {
	f.Add([]byte(small(f)))
	f.Add([]byte("tree\nversion=v4\nend of trees"))
	f.Add([]byte(grown(rand.New(rand.NewPCG(1, 1)), 3, 5, 2).text()))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseModel(text)
		if err != nil {
			return
		}
		if m.Columns > 1<<20 {
			return // a row of that width is the caller's memory, not the parser's
		}
		m.Margin(make([]float32, m.Columns))
		if model, err := m.Export(); err == nil {
			if err := model.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestParseDamaged: a few wrong characters in a valid text lead to an error or to a model whose trees can be walked.
func TestParseDamaged(t *testing.T) {
	good, _, _ := strings.Cut(small(t), "\nparameters:")
	const letters = "0123456789-.e =\n"
	r := rand.New(rand.NewPCG(6, 6))
	parsed := 0
	for range 20_000 {
		text := []byte(good)
		for range 1 + r.IntN(3) {
			text[r.IntN(len(text))] = letters[r.IntN(len(letters))]
		}
		m, err := ParseModel(text)
		if err != nil || m.Columns > 1<<20 {
			continue
		}
		parsed++
		m.Margin(make([]float32, m.Columns))
	}
	if parsed == 0 || parsed == 20_000 {
		t.Errorf("%d of 20,000 damaged texts parse", parsed)
	}
}
