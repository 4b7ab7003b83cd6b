package tablefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/dataerror"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

// nestedTables writes the same random rows as Parquet, JSON lines and two JSON files, and their values by path as
// Python finds them.
const nestedTables = `
import sys, os, json, random, pyarrow as pa, pyarrow.parquet as pq
out, random_ = sys.argv[1], random.Random(7)
def maybe(make): return None if random_.random() < 0.2 else make()
def model():
  return {"score": maybe(lambda: random_.randrange(8) / 8), "num.tokens": maybe(lambda: random_.randrange(1000)),
          "use": maybe(lambda: {"in": maybe(lambda: random_.randrange(9)), "text": maybe(lambda: random_.choice(["a", "b.c", "ü"]))}),
          "few": maybe(lambda: [random_.randrange(5) / 2 for _ in range(random_.randrange(1, 4))])}
rows = [{"id": "q%d" % i, "gpt-3.5": maybe(model) if i else model(), "m": maybe(model) if i else model(), "m.score": i / 4} for i in range(500)]
rows[0]["gpt-3.5"].update({"score": 0.5, "num.tokens": 3, "use": {"in": 1, "text": "x"}, "few": [1.0]})
inner = pa.struct([("score", pa.float64()), ("num.tokens", pa.int64()), ("use", pa.struct([("in", pa.int32()), ("text", pa.string())])), ("few", pa.list_(pa.float32()))])
pq.write_table(pa.Table.from_pylist(rows, pa.schema([("id", pa.string()), ("gpt-3.5", inner), ("m", inner), ("m.score", pa.float64())])), out + "/t.parquet", row_group_size=170, data_page_size=300)
with open(out + "/t.jsonl", "w") as f:
  for r in rows: f.write(json.dumps(r) + "\n")
json.dump(rows, open(out + "/t.json", "w"), indent=1)
json.dump({"model": {"name": "x"}, "rows": rows, "after": 3}, open(out + "/u.json", "w"))
def at(v, *keys):
  for k in keys: v = None if v is None else v[k]
  return v
paths = {"id": ["id"], "gpt-3.5.score": ["gpt-3.5", "score"], "gpt-3.5.num.tokens": ["gpt-3.5", "num.tokens"], "gpt-3.5.use.in": ["gpt-3.5", "use", "in"],
         "m.use.text": ["m", "use", "text"], "m.few": ["m", "few"], "m.score": ["m.score"]}
json.dump({name: [at(r, *keys) for r in rows] for name, keys in paths.items()}, open(out + "/want", "w"))
`

// shown is a cell as the JSON value that it stands for.
func shown(t *testing.T, c *Cell) string {
	t.Helper()
	if c.Missing() {
		return "null"
	}
	if list, err := c.Floats(); err == nil {
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if v, err := c.Float(); err == nil {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%q", c.String())
}

// column reads a column as the JSON values of its cells.
func columns(t *testing.T, s Layout, names ...string) map[string][]string {
	t.Helper()
	table, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if err := table.Choose(names); err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]string)
	cells := make([]Cell, len(names))
	for {
		_, err := table.Next(cells)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			out[name] = append(out[name], shown(t, &cells[i]))
		}
	}
}

// Fields of structs and of nested objects are columns with the path as their name, in every format as Python sees them.
func TestNestedColumnsAsPythonSeesThem(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t, "pyarrow"), dir, nestedTables, dir)
	text, err := os.ReadFile(filepath.Join(dir, "want"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(want))
	for _, c := range []struct {
		file, prefix string
		source       Layout
	}{{"t.parquet", "", Layout{}}, {"t.jsonl", "", Layout{}}, {"t.json", "", Layout{}}, {"u.json", "rows.", Layout{Rows: "rows"}}} {
		c.source.Path = storage.File(filepath.Join(dir, c.file))
		prefixed := make([]string, len(names))
		for i, name := range names {
			prefixed[i] = c.prefix + name
		}
		got := columns(t, c.source, prefixed...)
		for i, name := range names {
			if len(got[prefixed[i]]) != len(want[name]) {
				t.Fatalf("%s: %s has %d rows, want %d", c.file, name, len(got[prefixed[i]]), len(want[name]))
			}
			for row, v := range want[name] {
				b, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				if got[prefixed[i]][row] != string(b) {
					t.Fatalf("%s: %s in row %d is %s, want %s", c.file, name, row+1, got[prefixed[i]][row], b)
				}
			}
		}
	}
	outer := columns(t, Layout{Path: storage.File(filepath.Join(dir, "u.json")), Rows: "rows"}, "model.name", "after")
	if outer["model.name"][499] != `"x"` || outer["after"][0] != "3" {
		t.Errorf("the values around the rows are %s and %s", outer["model.name"][499], outer["after"][0])
	}
}

// write makes files in a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder of files is one table; the names in its pattern are columns, and columns can be made of others.
func TestFolderOfFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"b/test/m2/1.json":  `{"model":"m2","records":[{"i":1,"s":0.5,"cost":2}],"cost":7}`,
		"b/test/m1/1.json":  `{"cost":7,"model":"m1","records":[{"i":1,"s":null,"cost":1},{"i":2,"s":1}]}`,
		"b/notes.json":      `{"no":"records"}`,
		".git/x/y/1.json":   `broken`,
		"b/test/m1/log.txt": "left out",
		"b/dev/m1/1.json":   "left out",
	})
	s := Layout{Path: storage.File(dir), Rows: "records", Paths: "{set}/{split:train|test}/*/*.json", Combine: map[string]string{"id": "{set}/{split}/{records.i}"}}
	got := columns(t, s, "id", "model", "records.s", "records.cost", "cost", "split")
	want := map[string]string{
		"id": `"b/test/1" "b/test/2" "b/test/1"`, "model": `"m1" "m1" "m2"`, "records.s": "null 1 0.5", "records.cost": "1 null 2", "cost": "7 7 7",
		"split": `"test" "test" "test"`,
	}
	for name, values := range want {
		if all := strings.Join(got[name], " "); all != values {
			t.Errorf("%s is %s, want %s", name, all, values)
		}
	}
}

// Parts that are cut out of a column are columns too, and may be combined; a pattern without a column is a constant.
func TestMadeColumns(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.csv":   "id,s\nann-b-1,1\nbob-22,2\n,3\n-4,4\n",
		"b.jsonl": "{\"n\": 1207, \"s\": [1]}\n{\"n\": 31}\n",
	})
	for _, c := range []struct {
		layout Layout
		want   map[string]string
	}{
		{
			Layout{Path: storage.File(filepath.Join(dir, "a.csv")), Cut: map[string]string{"id": `(?<user>.*)-(?<turn>\d+)`}, Combine: map[string]string{"key": "{turn}/{user}", "expert": "small"}},
			map[string]string{
				"user": `"ann-b" "bob" null null`, "turn": `1 22 null 4`, "key": `"1/ann-b" "22/bob" null null`, "id": `"ann-b-1" "bob-22" null -4`,
				"expert": `"small" "small" "small" "small"`,
			},
		},
		{Layout{Path: storage.File(filepath.Join(dir, "b.jsonl")), Cut: map[string]string{"n": `(?<head>\d+)\d`}}, map[string]string{"head": `120 3`}},
	} {
		for name, values := range c.want { // each column alone, too
			if got := strings.Join(columns(t, c.layout, name)[name], " "); got != values {
				t.Errorf("%s is %s, want %s", name, got, values)
			}
		}
		got := columns(t, c.layout, slices.Sorted(maps.Keys(c.want))...)
		for name, values := range c.want {
			if all := strings.Join(got[name], " "); all != values {
				t.Errorf("%s is %s, want %s", name, all, values)
			}
		}
	}
}

// With All, the names are those of every row and file.
func TestAllNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.jsonl": "{\"id\":1,\"m\":null}\n{\"id\":2,\"m\":{\"score\":1},\"n\":{\"score\":0}}\n",
		"b.jsonl": `{"id":3,"o":{"score":1}}`,
	})
	for path, want := range map[string]string{filepath.Join(dir, "a.jsonl"): "id m m.score n n.score", dir: "id m m.score n n.score o o.score"} {
		table, err := Layout{Path: storage.File(path), All: true}.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(table.Names(), " "); got != want {
			t.Errorf("%s has %s, want %s", path, got, want)
		}
		table.Close()
	}
}

// What is wrong with nested tables and folders is one error that names the file, and the row where there is one.
func TestNestedErrors(t *testing.T) {
	for _, c := range []struct {
		files  map[string]string
		source Layout
		column string
		want   string
	}{
		{map[string]string{"a.jsonl": "{\"m\":{\"s\":1}}\n{\"m\":3}"}, Layout{}, "m.s", `a.jsonl": row 2: column m.s: "m" is not a JSON object here`},
		{map[string]string{"a.jsonl": "{\"m\":{\"s\":1}}\n{\"m\":null}"}, Layout{}, "m.t", `column m.t: is missing: no row has`},
		{map[string]string{"a.jsonl": "{\"m\":{\"s\":1}}"}, Layout{}, "n.s", `column n.s: is missing; the table has m, m.s`},
		{map[string]string{"a.jsonl": `{"a":{"b.c":1},"a.b":{"c":2}}`}, Layout{}, "a.b.c", "more than one value"},
		{map[string]string{"a.jsonl": "{\"m\":{\"s\":1}}\n{\"m.s\":3}"}, Layout{}, "m.s", "row 2: column m.s: is one key here"},
		{map[string]string{"a.json": `{"records":[{"s":1}]}`}, Layout{}, "s", "is not a list of JSON objects; if it is an object with such a list"},
		{map[string]string{"a.json": "{\"s\":1}\n{\"s\":2}\n"}, Layout{}, "s", "if every line has an object, let its name end in .jsonl"},
		{map[string]string{"a.json": `{"runs":[{"s":1}]}`}, Layout{Rows: "records"}, "s", `has no list "records"; its keys are runs`},
		{map[string]string{"a.json": `{"records":[{"s":1}],"records":[]}`}, Layout{Rows: "records"}, "records.s", `duplicate key "records"`},
		{map[string]string{"a.json": `{"records":[{"s":1,"s":2}]}`}, Layout{Rows: "records"}, "records.s", `row 1: duplicate key "s"`},
		{map[string]string{"a.json": `{"records":[{"s":1}]`}, Layout{Rows: "records"}, "records.s", "unexpected EOF"},
		{map[string]string{"a.json": `[{"s":1}] []`}, Layout{}, "s", "goes on after the end"},
		{map[string]string{"a.json": `[{"s":1},2]`}, Layout{}, "s", "row 2: is not a JSON object"},
		{map[string]string{"a.json": `{"x":1,"records":[{"s":1}]}`}, Layout{Rows: "records"}, "s", "column s: is missing; the table has x, records.s"},
		{map[string]string{"a.csv": "s\n1\n", "b.jsonl": "{}"}, Layout{}, "s", "files of two kinds"},
		{map[string]string{"a.csv": "s\n1\n", "b.csv": "t\n1\n"}, Layout{}, "s", `b.csv": column s: is missing`},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Paths: "{s}.csv"}, "s", "column s: is a column of the file and a name in the pattern"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Paths: "{s}/x.csv"}, "s", `has no file that fits "{s}/x.csv"`},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Combine: map[string]string{"s": "{s}"}}, "s", "but the table has a column of this name"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Combine: map[string]string{"id": "s"}}, "id", "the table has a column s; write {s}"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Combine: map[string]string{"id": ""}}, "id", "is combined of nothing"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Cut: map[string]string{"s": "(?<s>.)"}}, "s", "but the table has a column of this name"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Cut: map[string]string{"s": "(.)"}}, "u", "has no group with a name"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Cut: map[string]string{"s": "(?<u>.)", "v": "(?<u>.)"}}, "u", "is cut out of two columns"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Cut: map[string]string{"v": "(?<u>.)"}}, "u", "column v: is missing; the table has s"},
		{map[string]string{"a.csv": "s\n1\n12\n"}, Layout{Cut: map[string]string{"s": "(?<u>.)"}}, "u", `a.csv": row 3: column u: is cut out of s, but "12" does not fit "(?<u>.)"`},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Combine: map[string]string{"id": "{t}"}}, "id", "column t: is missing"},
		{map[string]string{"a.csv": "s\n1\n"}, Layout{Combine: map[string]string{"id": "{s"}}, "id", "{ without a name and }"},
	} {
		dir := t.TempDir()
		write(t, dir, c.files)
		c.source.Path = storage.File(dir)
		if len(c.files) == 1 && c.source.Paths == "" {
			for name := range c.files {
				c.source.Path = storage.File(filepath.Join(dir, name))
			}
		}
		err := readAll(c.source, c.column)
		var data *dataerror.Error
		if !errors.As(err, &data) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(data.File, dir) {
			t.Errorf("%v, column %s: got %v, want %q", c.files, c.column, err, c.want)
		}
	}
}

func readAll(s Layout, columns ...string) error {
	table, err := s.Open(context.Background())
	if err != nil {
		return err
	}
	defer table.Close()
	if err := table.Choose(columns); err != nil {
		return err
	}
	for cells := make([]Cell, len(columns)); err == nil; {
		_, err = table.Next(cells)
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// A pickle is recognised whatever its name and package, and the error has the command that converts it.
func TestPicklesAreRefused(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t), dir, `
import gzip, pickle, zipfile
for protocol in (2, 3, 4, 5):
  open("p%d.csv" % protocol, "wb").write(pickle.dumps({"a": [1]}, protocol))
open("p.parquet", "wb").write(pickle.dumps([1]))
gzip.open("q.pkl.gz", "wb").write(pickle.dumps([1]))
zipfile.ZipFile("q.zip", "w", zipfile.ZIP_DEFLATED).writestr("q.pkl", pickle.dumps([1]))
`)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		_, err := Open(t.Context(), storage.File(path))
		var hint interface{ Hint() string }
		if !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "pd.read_pickle('"+path+"').to_parquet('"+strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zip"), ".pkl")+".parquet')") {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
	write(t, dir, map[string]string{"t.csv": "a\n1\n"})
	if err := readAll(Layout{Path: storage.File(filepath.Join(dir, "t.csv"))}, "a"); err != nil {
		t.Error(err)
	}
}
