package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/progress"

	"pgregory.net/rapid"
)

// groupedWorld is a table of n instances of which a third share a user with two
// others, with one expert. Rows may be in any order.
func groupedWorld(t testing.TB, rows []int) *world {
	t.Helper()
	w := newWorld(t, 1)
	var instances, answers strings.Builder
	instances.WriteString("id,label,user,text,x\n")
	answers.WriteString("id,prediction\n")
	for _, n := range rows {
		fmt.Fprintf(&instances, "r%d,%s,u%d,text %d,%d\n", n, []string{"cat", "dog"}[n%2], n/3, n%50, n)
		fmt.Fprintf(&answers, "r%d,cat\n", n)
	}
	w.write(t, "instances.csv", instances.String())
	w.write(t, "answers.csv", answers.String())
	w.cfg.Instances.Settings = map[string]any{"file": "instances.csv"}
	w.cfg.Split = part.DefaultConfig().Split
	w.cfg.Advice = w.cfg.Advice[:1]
	w.cfg.Experts = []part.ExpertConfig{{Name: "known", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "prediction"}}}
	w.cfg.Features = []part.Part{{Kind: "columns", Settings: map[string]any{"columns": []string{"x"}}}}
	w.cfg.Shard = 64
	return w
}

func rowsTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// TestBuiltRowsKeepTheirSplit when rows are appended and reordered.
func TestBuiltRowsKeepTheirSplit(t *testing.T) {
	_, before := groupedWorld(t, rowsTo(300)).mustRun(t)
	more := rowsTo(430)[20:]
	slices.Reverse(more)
	_, after := groupedWorld(t, more).mustRun(t)
	splits := make(map[string]costs.Split)
	for n, id := range before.IDs {
		splits[id] = before.Splits[n]
	}
	moved, learnt := 0, 0
	for n, id := range after.IDs {
		if was, ok := splits[id]; ok && was != after.Splits[n] {
			moved++
			if after.Splits[n] == costs.Train {
				learnt++
			}
		}
	}
	if moved > 0 {
		t.Errorf("%d of %d rows changed split when rows were appended; %d former val and test rows train now", moved, len(before.IDs), learnt)
	}
}

// TestBuiltGroupsAreWhole under every kind of split; the tensor has the groups,
// a resumed build, too.
func TestBuiltGroupsAreWhole(t *testing.T) {
	for _, kind := range []string{costs.SplitHash, costs.SplitStratified, costs.SplitRandom} {
		w := groupedWorld(t, rowsTo(300))
		w.cfg.Instances.Settings["group"] = "user"
		w.cfg.Split = part.Part{Kind: kind, Settings: map[string]any{"test": 0.2}}
		r, tensor := w.mustRun(t)
		if n, divided := costs.CountGroups(tensor.Groups, tensor.Splits); n != 100 || divided != 0 || r.Groups != 100 || r.Divided != 0 || tensor.Groups[299] != "u99" {
			t.Errorf("%s: %+v; in the tensor %d groups, %d divided", kind, r, n, divided)
		}
		if r, err := w.run(t.Context()); err != nil || r.Resumed != r.Shards {
			t.Errorf("%s: again: %+v, %v", kind, r, err)
		}
		w.cfg.Instances.Settings["group"] = "text"
		var changed *ChangedError
		if _, err := w.run(t.Context()); !errors.As(err, &changed) {
			t.Errorf("%s: another group column: %v", kind, err)
		}
	}
}

// TestDividedGroupsAreCounted where a column says which row is in which split.
func TestDividedGroupsAreCounted(t *testing.T) {
	w := newWorld(t, 40)
	w.cfg.Instances.Settings["group"] = "label"
	r, tensor := w.mustRun(t)
	if r.Groups != 3 || r.Divided != 3 || tensor.Groups[4] != "dog" {
		t.Errorf("%+v", r)
	}
}

// TestGroupErrors: what is wrong with groups of instances.
func TestGroupErrors(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*world)
		want string
	}{
		"no column": {func(w *world) { w.cfg.Instances.Settings["group"] = "session" }, "column session: is not there; the columns are id, label, user"},
		"empty": {func(w *world) {
			w.edit(t, "instances.csv", "r7,dog,u2,", "r7,dog,,")
			w.cfg.Instances.Settings["group"] = "user"
		}, `instances.csv": row 9: column user: is empty; give an instance without a group one to itself`},
		"text as well": {func(w *world) {
			w.cfg.Instances.Settings["group"], w.cfg.Instances.Settings["text"] = "user", "text"
			w.cfg.Split.Settings = map[string]any{"group": "text"}
		}, "group is text, but the instances have groups"},
		"group of a split": {func(w *world) { w.cfg.Split.Settings = map[string]any{"group": "user"} }, `group is "user"; only text is known; a column of groups is named by group of the instances`},
		"images without a table": {func(w *world) {
			w.cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images", "group": "user"}}
		}, "group is a column, but no table is named by labels or list"},
	} {
		w := groupedWorld(t, rowsTo(30))
		c.edit(w)
		if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestTextsStayTogetherByHash: group: text does the same under the hash.
func TestTextsStayTogetherByHash(t *testing.T) {
	w := groupedWorld(t, rowsTo(200))
	w.cfg.Instances.Settings["text"] = "text"
	w.cfg.Split.Settings = map[string]any{"group": "text"}
	_, tensor := w.mustRun(t)
	texts := make([]string, tensor.Len())
	for n := range texts {
		texts[n] = fmt.Sprint(n % 50)
	}
	if n, divided := costs.CountGroups(texts, tensor.Splits); n != 50 || divided != 0 || tensor.Groups != nil {
		t.Errorf("%d texts, %d divided", n, divided)
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
			m := l.Model(i)
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
	if err == nil || !strings.Contains(err.Error(), `all training rows with the label "b" belong together: with cross_fit 3`) {
		t.Errorf("got %v", err)
	}
}

// TestEqualRowsOfATableShareAFold, and rows of one group: no model answers for a
// copy of what it has seen.
func TestEqualRowsOfATableShareAFold(t *testing.T) {
	w := newTabularWorld(t, 400)
	f := testFrame(400, 1)
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
	writeTable(t, filepath.Join(w.dir, "table.parquet"), f, testGroups)
	p := blankPlan(&w.cfg, &Options{Kinds: w.allKinds(), OpenText: w.openText, Dir: w.dir, Progress: progress.Silent{}})
	if err := p.make(t.Context(), p.makeSource, p.makeSplit); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := sharedFoldPlan(t.Context(), p.Build)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if a, b := l.Model(i), l.Model(200+i); p.splits[i] == costs.Train && p.splits[200+i] == costs.Train && a != b {
			t.Fatalf("rows %d and %d are equal, and answered by models %d and %d", i, 200+i, a, b)
		}
		if a, b := l.Model(2*i), l.Model(2*i+1); p.splits[2*i] == costs.Train && p.splits[2*i+1] == costs.Train && a != b {
			t.Fatalf("rows %d and %d are of one group, and answered by models %d and %d", 2*i, 2*i+1, a, b)
		}
	}
	if want := "3 folds with 200 rows kept beside others of their group or with equal values"; l.how() != want {
		t.Errorf("folds are said to be %q, want %q", l.how(), want)
	}
}
