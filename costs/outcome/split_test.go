package outcome

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

// gradeTable is a table in wide form: an id, two losses, a number and a user per
// row, of the given rows in their order.
func gradeTable(rows []int) string {
	var b strings.Builder
	b.WriteString("id,a,b,x,user,label\n")
	for _, n := range rows {
		fmt.Fprintf(&b, "%d,%d,%d,%d,u%d,l%d\n", 1_000_000+n, n%2, (n/2)%2, n, n%97, n%3)
	}
	return b.String()
}

// gradeImport is the configuration of a grade table.
func gradeImport(file string) Config {
	c := DefaultConfig()
	c.Outcomes = Table{
		File: storage.File(file), Columns: Columns{ID: "id"},
		Wide: WideForm{Value: "loss", Pairs: []WideColumn{{Expert: "a", Column: "a"}, {Expert: "b", Column: "b"}}},
	}
	c.Features = []FeatureTable{{ID: "id", Columns: []string{"x"}}}
	return c
}

func count(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// splitsOf returns the splits of an import by id.
func splitsOf(t *testing.T, c Config) map[string]costs.Split {
	t.Helper()
	tensor, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	splits := make(map[string]costs.Split)
	for n, id := range tensor.IDs {
		splits[id] = tensor.Splits[n]
	}
	return splits
}

// TestImportedRowsKeepTheirSplit when rows are appended, left out and shuffled.
func TestImportedRowsKeepTheirSplit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grades.csv")
	c := gradeImport(file)
	put(t, file, gradeTable(count(900)))
	before := splitsOf(t, c)
	more := count(1319)[10:]
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
	put(t, file, gradeTable(more))
	after := splitsOf(t, c)
	moved, learnt := 0, 0
	for id, s := range after {
		if was, ok := before[id]; ok && was != s {
			moved++
			if s == costs.Train {
				learnt++
			}
		}
	}
	if moved > 0 {
		t.Errorf("of %d rows %d changed split when rows were appended; %d former val and test rows train now", len(before), moved, learnt)
	}
}

// TestImportedGroupsAreWhole in either form and under every kind; the tensor has
// them.
func TestImportedGroupsAreWhole(t *testing.T) {
	dir := t.TempDir()
	wide, long, features := filepath.Join(dir, "wide.csv"), filepath.Join(dir, "long.csv"), filepath.Join(dir, "features.csv")
	put(t, wide, gradeTable(count(900)))
	put(t, features, gradeTable(count(900)))
	var b strings.Builder
	b.WriteString("id,who,loss,user\n")
	for n := range 900 {
		fmt.Fprintf(&b, "%d,a,%d,u%d\n%d,b,1,u%d\n", 1_000_000+n, n%2, n%97, 1_000_000+n, n%97)
	}
	put(t, long, b.String())
	forms := map[string]func() Config{
		"wide": func() Config {
			c := gradeImport(wide)
			c.Outcomes.Columns.Group = "user"
			return c
		},
		"long": func() Config {
			c := gradeImport(long)
			c.Outcomes = Table{File: storage.File(long), Columns: Columns{ID: "id", Expert: "who", Loss: "loss", Group: "user"}}
			c.Features[0].File = storage.File(features)
			return c
		},
		"features": func() Config {
			c := gradeImport(wide)
			c.Features[0].Group, c.Features[0].Label = "user", "label"
			return c
		},
	}
	for form, config := range forms {
		for _, kind := range []string{"", costs.SplitHash, costs.SplitStratified, costs.SplitRandom} {
			c := config()
			c.Split.Kind, c.Split.Test = kind, 0.1
			tensor, report, err := Import(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			if report.Groups != 97 || report.Divided != 0 || tensor.Groups[96] != "u96" || tensor.Groups[97] != "u0" || len(tensor.Rows(costs.Val)) == 0 {
				t.Errorf("%s, kind %q: %+v", form, kind, report)
			}
		}
	}
}

// The report names splits that are far from their shares: hashes of few groups, but not many rows, exact draws and splits
// of a column.
func TestUnevenSplitsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	put(t, file, gradeTable(count(2000)))
	for name, change := range map[string]func(*Config){
		"few groups":   func(c *Config) { c.Features[0].Group = "label" },
		"many rows":    func(*Config) {},
		"many groups":  func(c *Config) { c.Outcomes.Columns.Group = "x" },
		"exact shares": func(c *Config) { c.Split.Kind, c.Split.Test = costs.SplitStratified, 0.1 },
		"a column": func(c *Config) {
			c.Outcomes.Columns.Split, c.Split.Names = "label", map[string]string{"l0": "train", "l1": "val", "l2": "test"}
		},
	} {
		c := gradeImport(file)
		change(&c)
		tensor, report, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(name, err)
		}
		var want []costs.UnevenSplit
		if name == "few groups" { // a third or two thirds
			want = []costs.UnevenSplit{{Split: "val", Rows: len(tensor.Rows(costs.Val)), Share: 0.25}}
		}
		if !slices.Equal(report.Uneven, want) {
			t.Errorf("%s: %+v, want %+v", name, report.Uneven, want)
		}
	}
}

// TestImportGroupErrors: what is wrong with a column of groups.
func TestImportGroupErrors(t *testing.T) {
	const long = "id,who,loss,user\n1,a,0,u\n1,b,1,v\n"
	for name, c := range map[string]struct {
		table string
		edit  func(*Config)
		want  string
	}{
		"two groups of an id": {long, func(c *Config) {
			c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Loss: "loss", Group: "user"}
			c.Outcomes.Wide = WideForm{}
			c.Features[0].File = c.Outcomes.File.Dir().Join("features.csv")
		}, `row 3: column user: is "v", but earlier in the same instance "u"`},
		"empty group": {"id,a,b,x,user\n1,0,1,2,u\n2,0,1,2,\n", func(c *Config) { c.Outcomes.Columns.Group = "user" }, "row 3: column user: is missing"},
		"no column":   {gradeTable(count(9)), func(c *Config) { c.Outcomes.Columns.Group = "session" }, "column session: is missing; the table has id, a"},
		"two places": {gradeTable(count(9)), func(c *Config) {
			c.Outcomes.Columns.Group, c.Features[0].Group = "user", "user"
		}, "group is taken from 2 places"},
		"two names of a kind": {gradeTable(count(9)), func(c *Config) {
			c.Split.Kind, c.Split.Stratify = costs.SplitHash, new(bool)
		}, "split.kind and split.stratify are both set"},
		"unknown kind": {gradeTable(count(9)), func(c *Config) { c.Split.Kind = "rnd" }, `split: unknown kind "rnd"; known are hash, stratified, random, time`},
		"too few rows": {gradeTable(count(1)), func(*Config) {}, "split: kind hash leaves none of 1 rows to val"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "features.csv"), "id,x\n1,2\n")
		file := filepath.Join(dir, "table.csv")
		put(t, file, c.table)
		config := gradeImport(file)
		c.edit(&config)
		if _, _, err := Import(context.Background(), config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestImportOfFewRowsNamesTheFile: it is the data that are too few.
func TestImportOfFewRowsNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grades.csv")
	put(t, file, gradeTable(count(1)))
	_, _, err := Import(context.Background(), gradeImport(file))
	var data *costs.DataError
	if !errors.As(err, &data) || data.File != file {
		t.Errorf("got %v", err)
	}
}

// TestStratifyIsAnotherName of two kinds, and they are the draws that they were.
func TestStratifyIsAnotherName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grades.csv")
	put(t, file, gradeTable(count(300)))
	yes, no := true, false
	for kind, stratify := range map[string]*bool{costs.SplitStratified: &yes, costs.SplitRandom: &no} {
		c := gradeImport(file)
		c.Features[0].Label = "label"
		c.Split.Stratify, c.Split.Seed = stratify, 5
		tensor, _, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		labels := tensor.Labels
		if !*stratify {
			labels = nil
		}
		if !slices.Equal(tensor.Splits, costs.DrawSplits(300, labels, 0.25, 0, 5)) {
			t.Errorf("stratify %t is not kind %s", *stratify, kind)
		}
		c.Split.Kind, c.Split.Stratify = kind, nil
		again, _, err := Import(context.Background(), c)
		if err != nil || again.Digest() != tensor.Digest() {
			t.Errorf("kind %s is not stratify %t: %v", kind, *stratify, err)
		}
	}
}

// idTables writes one table with ids of many types. Its ids are around the edges
// of 32, 53 and 64 bits.
const idTables = `
import json, sys, pyarrow as pa, pyarrow.parquet as pq
ids = list(range(200)) + [2**31-1, 2**31, 2**32-1] + [2**53 + i for i in range(50)] + [2**63-1]
def columns(ids): return dict(id=ids, a=[i % 2 for i in range(len(ids))], b=[i % 3 % 2 for i in range(len(ids))], x=[i / 4 for i in range(len(ids))])
def parquet(name, kind, ids): pq.write_table(pa.table({**columns(range(len(ids))), "id": pa.array(ids, kind)}), name)
parquet("int64.parquet", pa.int64(), ids)
parquet("uint64.parquet", pa.uint64(), ids)
parquet("text.parquet", pa.string(), [str(i) for i in ids])
parquet("uint32.parquet", pa.uint32(), [i for i in ids if i < 2**32])
parquet("int32.parquet", pa.int32(), [i for i in ids if i < 2**31])
parquet("int16.parquet", pa.int16(), ids[:200])
for name, kind in (("number.jsonl", int), ("text.jsonl", str)):
  with open(name, "w") as f:
    for n, i in enumerate(ids): print(json.dumps({"id": kind(i), "a": n % 2, "b": n % 3 % 2, "x": n / 4}), file=f)
with open("ids.csv", "w") as f:
  print("id,a,b,x", file=f)
  for n, i in enumerate(ids): print('%s,%d,%d,%r' % (['%d', '"%d"'][n % 2] % i, n % 2, n % 3 % 2, n / 4), file=f)
`

// TestSplitsIgnoreTheTypeOfIDs: an integer and its digits are one id in every
// kind of file.
func TestSplitsIgnoreTheTypeOfIDs(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t, "pyarrow"), dir, idTables)
	want := splitsOf(t, gradeImport(filepath.Join(dir, "ids.csv")))
	if len(want) != 254 {
		t.Fatalf("%d ids", len(want))
	}
	for name, rows := range map[string]int{
		"int64.parquet": 254, "uint64.parquet": 254, "text.parquet": 254, "uint32.parquet": 203, "int32.parquet": 201, "int16.parquet": 200,
		"number.jsonl": 254, "text.jsonl": 254,
	} {
		got := splitsOf(t, gradeImport(filepath.Join(dir, name)))
		for id, s := range got {
			if w, ok := want[id]; !ok || w != s {
				t.Errorf("%s: id %s is %v; in CSV %v, %t", name, id, s, w, ok)
			}
		}
		if len(got) != rows {
			t.Errorf("%s: %d ids, want %d", name, len(got), rows)
		}
	}
}
