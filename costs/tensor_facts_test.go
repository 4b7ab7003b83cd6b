package costs

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

// factsFor returns facts for a tensor: two numbers and two categories, one of which is never known. Each other value is
// unknown with probability 1/every.
func factsFor(t *Tensor, seed uint64, every int) []Facts {
	r, n := rand.New(rand.NewPCG(seed, 2)), len(t.Loss)
	draw := func(value func() float32) (data []float32) {
		for range n {
			v := nan32
			if r.IntN(every) > 0 {
				v = value()
			}
			data = append(data, v)
		}
		return data
	}
	label := Facts{Fact: Fact{Name: "label", Values: []string{"нет", "a", "b", "c\x00"}}, Data: draw(func() float32 { return float32(r.IntN(4)) })}
	slices.Sort(label.Values)
	return []Facts{
		{Fact: Fact{Name: "confidence"}, Data: draw(r.Float32)},
		{Fact: Fact{Name: "finish", Values: []string{}}, Data: draw(func() float32 { return nan32 })},
		label,
		{Fact: Fact{Name: "length"}, Data: draw(func() float32 { return float32(r.IntN(1000)) })},
	}
}

func TestBadFacts(t *testing.T) {
	for want, spoil := range map[string]func(*Tensor){
		`column observed_: "" is no name of a fact`:                                    func(t *Tensor) { t.Facts[0].Name = "" },
		`column observed_a b: "a b" is no name of a fact: it needs lower-case letters`: func(t *Tensor) { t.Facts[0].Name = "a b" },
		`column observed_Conf: "Conf" is no name`:                                      func(t *Tensor) { t.Facts[0].Name = "Conf" },
		`column observed_é: "é" is no name`:                                            func(t *Tensor) { t.Facts[0].Name = "é" },
		"column observed_confidence: is there twice":                                   func(t *Tensor) { t.Facts[1].Name = "confidence" },
		`column observed_b: comes after "confidence", but facts are sorted by name`:    func(t *Tensor) { t.Facts[1].Name = "b" },
		"column observed_label: has 79 values for 20 rows, expected 80":                func(t *Tensor) { t.Facts[2].Data = t.Facts[2].Data[1:] },
		"row 2: column observed_confidence[1]: is +Inf; it must be finite":             func(t *Tensor) { t.Facts[0].Data[5] = float32(math.Inf(1)) },
		"row 2: column observed_label[0]: is 4, which is no index into 4 values":       func(t *Tensor) { t.Facts[2].Data[4] = 4 },
		"row 2: column observed_label[0]: is -1, which is no index":                    func(t *Tensor) { t.Facts[2].Data[4] = -1 },
		"row 2: column observed_label[0]: is 0.5, which is no index":                   func(t *Tensor) { t.Facts[2].Data[4] = 0.5 },
		"row 1: column observed_finish[0]: is 0, which is no index into 0 values":      func(t *Tensor) { t.Facts[1].Data[0] = 0 },
		`column observed_label: the values are not sorted and unique: "a" comes after`: func(t *Tensor) { t.Facts[2].Values[1] = "a" },
		"column observed_label: is empty; it must be null where it is not known":       func(t *Tensor) { t.Facts[2].Values[0] = "" },
		"column observed_label: \"\\xff\" is not valid UTF-8":                          func(t *Tensor) { t.Facts[2].Values[3] = "\xff" },
	} {
		tensor := testTensor(6, 20, 3, testActions(2, 2))
		tensor.Facts = factsFor(tensor, 1, 5)
		if err := tensor.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(tensor)
		if err := tensor.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q", err, want)
		}
	}
}

// Values that do not occur are not kept by a file, and do not change the digest.
func TestUnusedValuesDoNotCount(t *testing.T) {
	tensor := testTensor(6, 20, 3, testActions(2, 2))
	tensor.Facts = factsFor(tensor, 1, 5)
	more := tensor.Subset(allIndexes(20))
	more.Facts[2].renumber([]string{"0", "a", "b", "bb", "c\x00", "z", "нет"})
	if err := more.Validate(); err != nil || more.Digest() != tensor.Digest() {
		t.Fatal(err, "or another digest")
	}
	path := storage.File(filepath.Join(t.TempDir(), "t.parquet"))
	if err := Write(t.Context(), path, more); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), path, ReadOptions{})
	if err != nil || diffTensors(tensor, got) != "" {
		t.Error(err, diffTensors(tensor, got))
	}
}

// A fact of a name is found, and the facts of a file are those of all its parts, which must be the same.
func TestFactsOfParts(t *testing.T) {
	tensor := testTensor(6, 20, 3, testActions(2, 2))
	tensor.Facts = factsFor(tensor, 1, 5)
	if f := tensor.Fact("label"); f != &tensor.Facts[2] || tensor.Fact("labe") != nil {
		t.Error(f)
	}
	folder := t.TempDir()
	write := func(name string, part *Tensor) string {
		path := filepath.Join(folder, name)
		if err := Write(t.Context(), storage.File(path), part); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("1.parquet", tensor.Subset([]int{0, 1, 2}))
	other := tensor.Subset([]int{3, 4})
	other.Facts[2] = Facts{Fact: Fact{Name: "label"}, Data: other.Facts[0].Data}
	second := write("2.parquet", other)
	for what, open := range map[string]func() error{
		"read":   func() error { _, err := Read(t.Context(), storage.File(folder), ReadOptions{}); return err },
		"stream": func() error { return drain(folder, 3) },
	} {
		t.Run(what, func(t *testing.T) {
			dataerrortest.Check(t, open(), second, 0, "", "has the facts confidence (numbers), finish (texts), label (numbers), length (numbers); ")
		})
	}
	w, err := NewWriter(t.Context(), storage.File(filepath.Join(t.TempDir(), "w.parquet")), tensor.Actions, tensor.Columns())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Append(other); err == nil || !strings.Contains(err.Error(), "batch has the facts confidence (numbers), finish (texts), label (numbers)") {
		t.Error(err)
	}
}

// Files with bad facts name the row, in one piece and batch by batch.
func TestFactsOfFiles(t *testing.T) {
	fact := func(row int, values ...any) *rawFile {
		f := goodRaw()
		f.lists["observed_c"] = slices.Repeat([][]any{{nil, 0.5, math.NaN(), 1.0}}, 5)
		f.lists["observed_c"][row] = values
		if len(values) == 0 {
			f.lists["observed_c"][row] = nil
		}
		return f
	}
	good, err := Read(t.Context(), storage.File(fact(0, 1.0, 2.0, 3.0, nil).write(t)), ReadOptions{})
	if err != nil || len(good.Facts) != 1 || good.Facts[0].Data[2] != 3 || good.Facts[0].Data[3] == good.Facts[0].Data[3] {
		t.Fatal(err, good)
	}
	badName := goodRaw()
	badName.lists["observed_A"] = badName.lists[colLoss]
	scalar := goodRaw()
	scalar.text["observed_c"] = scalar.text[colID]
	for _, c := range []struct {
		file         *rawFile
		row          int
		column, want string
	}{
		{fact(3, 1.0, math.Inf(1), 0.0, 0.0), 4, "observed_c[1]", "is +Inf; it must be finite, or null"},
		{fact(3), 4, "observed_c", "is null"},
		{fact(3, 1.0), 4, "observed_c", "list has 1 values, expected 4"},
		{badName, 0, "observed_A", `"A" is no name of a fact`},
		{scalar, 0, "observed_c", "has 0 levels of lists, expected a list of string or float"},
	} {
		path := c.file.write(t)
		_, err := Read(t.Context(), storage.File(path), ReadOptions{})
		dataerrortest.Check(t, err, path, c.row, c.column, c.want)
		dataerrortest.Check(t, drain(path, 2), path, c.row, c.column, c.want)
	}
}

const factsTable = makeTable + `
import pyarrow as pa, pyarrow.parquet as pq, polars as pl, duckdb
conf = [[None if (i + k) % 5 == 0 else (i * k % 64) / 64 for k in range(a)] for i in range(n)]
length = [[None if k == 2 else i * k for k in range(a)] for i in range(n)]
parses = [[None if i % 3 == 0 else k == 1 for k in range(a)] for i in range(n)]
said = [[None if (i + k) % 4 == 0 else "слово %d" % (i * k % 9) for k in range(a)] for i in range(n)]
f = pa.list_(pa.float32())
t = pa.table({"observed_length": length, "observed_json": parses, "observed_confidence": conf, "observed_label": said,
  "id": ids, "split": split, "features": pa.array(x.tolist(), f), "loss": pa.array(loss.tolist(), f)})
t = t.replace_schema_metadata({"pipe.actions": actions})
`

const writeFacts = factsTable + `
pq.write_table(t, "pyarrow.parquet", row_group_size=700)
open("actions.json", "w").write(actions)
pl.from_arrow(t).write_parquet("polars.parquet")
duckdb.sql("copy (select * from t) to 'duckdb.parquet' (format parquet)")
t.to_pandas().to_parquet("pandas.parquet")
i = t.schema.get_field_index("observed_label")
coded = pa.ListArray.from_arrays(t["observed_label"].combine_chunks().offsets, t["observed_label"].combine_chunks().flatten().dictionary_encode())
pq.write_table(t.set_column(i, "observed_label", coded), "dictionary.parquet")
`

const readFacts = factsTable + `
import pandas as pd
none = lambda v: None if v != v else v
for path in sys.argv[1:]:
  types = {name: str(pq.read_schema(path).field("observed_" + name).type) for name in ("confidence", "json", "label", "length")}
  assert types == {"confidence": "list<element: float>", "json": "list<element: float>", "label": "list<element: string>", "length": "list<element: float>"}, types
  tables = pq.read_table(path), pl.read_parquet(path), pd.read_parquet(path)
  for name, want in (("confidence", conf), ("json", parses), ("label", said), ("length", length)):
    name = "observed_" + name
    assert tables[0][name].to_pylist() == want, (path, name)
    assert tables[1][name].to_list() == want, (path, name)
    assert [[none(v) for v in row] for row in tables[2][name]] == want, (path, name)
    assert [list(v) for v, in duckdb.sql("select %s from '%s'" % (name, path)).fetchall()] == want, (path, name)
`

// Facts of other programs are read, numbers of any type, and they read ours.
func TestOthersKnowFacts(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow", "polars", "pandas", "duckdb")
	dir := t.TempDir()
	judge.Run(t, py, dir, writeFacts)
	var all []string
	for _, who := range []string{"pyarrow", "polars", "duckdb", "pandas", "dictionary"} {
		got, err := Read(t.Context(), storage.File(filepath.Join(dir, who+".parquet")), ReadOptions{})
		if err != nil {
			t.Fatal(who, err)
		}
		all = append(all, filepath.Join(dir, "ours-of-"+who+".parquet"))
		if err := Write(t.Context(), storage.File(all[len(all)-1]), got); err != nil {
			t.Fatal(who, err)
		}
	}
	judge.Run(t, py, "", readFacts, all...)
}

// extendFacts appends the facts of a batch.
func extendFacts(to, batch *Tensor) {
	for i := range batch.Facts {
		if len(to.Facts) < len(batch.Facts) {
			to.Facts = append(to.Facts, batch.Facts[i])
			continue
		}
		UniteFacts(&to.Facts[i], &batch.Facts[i])
		to.Facts[i].Data = append(to.Facts[i].Data, batch.Facts[i].Data...)
	}
}
