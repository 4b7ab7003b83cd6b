package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
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
		"no column": {func(w *world) { w.cfg.Instances.Settings["group"] = "session" }, "column session: is missing; the columns are id, label, user"},
		"empty": {func(w *world) {
			w.edit(t, "instances.csv", "r7,dog,u2,", "r7,dog,,")
			w.cfg.Instances.Settings["group"] = "user"
		}, `instances.csv": row 9: column user: is empty; give an instance without a group its own group, for instance its id`},
		"text as well": {func(w *world) {
			w.cfg.Instances.Settings["group"], w.cfg.Instances.Settings["text"] = "user", "text"
			w.cfg.Split.Settings = map[string]any{"group": "text"}
		}, "group is text, but the instances already have groups"},
		"group of a split": {func(w *world) { w.cfg.Split.Settings = map[string]any{"group": "user"} }, `group is "user"; it must be text; to use a column of groups, set group of the instances`},
		"images without a table": {func(w *world) {
			w.cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images", "group": "user"}}
		}, "group is a column, but neither labels nor list names a table"},
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
