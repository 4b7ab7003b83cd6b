package tabular

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// judgeTable reads the raw files with pandas, forms the values by the encoder
// in the metadata, and compares them with what four programs read from the
// table.
const judgeTable = `
import sys, json, duckdb, numpy as np, pandas as pd, polars as pl, pyarrow.parquet as pq
path, primary, joined = sys.argv[1:]
encoder = json.loads(pq.read_schema(path).metadata[b"pipe.encoder"])
text = lambda f: pd.read_csv(f, dtype=str, keep_default_na=False, na_values=[""])
raw = text(primary).merge(text(joined), on=encoder["id"], how="left", validate="one_to_one")
columns = encoder["columns"]
def values(c):
  cell = raw[c["name"]]
  if c["kind"] == "category":
    code = {v: i + 2 for i, v in enumerate(c.get("levels", []))} | {v: 1 for v in c.get("rare", [])}
    plain = cell.str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    return np.array([np.nan if pd.isna(v) else code.get(v, 0) for v in plain], "float32")
  number = cell.astype("float64")
  return (number // 3600 % 168 if c["kind"] == "time" else number).astype("float32").to_numpy()
want = {c["name"]: values(c) for c in columns}
readers = {
  "pandas": lambda: pd.read_parquet(path).to_dict("list"),
  "pyarrow": lambda: pq.read_table(path).to_pydict(),
  "polars": lambda: pl.read_parquet(path).to_dict(as_series=False),
  "duckdb": lambda: duckdb.sql("select * from '%s'" % path).arrow().read_all().to_pydict(),
}
for who, read in readers.items():
  table = read()
  assert list(table) == ["id", "split", "label", *want], (who, list(table)[:9])
  assert list(table["id"]) == list(raw[encoder["id"]]), who
  assert list(table["label"]) == list(raw[encoder["label"]]), who
  assert list(table["split"]) == [["train", "val"][i % 2] for i in range(len(raw))], who
  for name in want:
    have = np.array(table[name]).astype("float32")
    assert np.array_equal(have, want[name], equal_nan=True), (who, name)
  print(who, len(raw), len(columns))
`

// judged writes the table of the files and has it judged.
func judged(t *testing.T, s *Schema, files Files, want string) {
	t.Helper()
	py := judge.Python(t, "duckdb", "numpy", "pandas", "polars", "pyarrow")
	f, _, err := Load(t.Context(), s, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	split := make([]string, f.Len())
	for i := range split {
		split[i] = []string{"train", "val"}[i%2]
	}
	path := writeTo(t, mustFit(t, f, s, upTo(f.Len()*3/4)), f, split)
	got := judge.Run(t, py, "", judgeTable, path, files.Primary.String(), files.Joined.String())
	for _, who := range []string{"pandas", "pyarrow", "polars", "duckdb"} {
		if !strings.Contains(got, who+" "+want+"\n") {
			t.Errorf("%s did not compare %s rows and columns:\n%s", who, want, got)
		}
	}
}

func TestOthersReadOurTables(t *testing.T) {
	primary, joined := randomTable(rand.New(rand.NewPCG(21, 22)), 2*TableGroupRows+10, true)
	judged(t, smallSchema(), Files{Primary: storage.File(write(t, primary)), Joined: storage.File(write(t, joined))}, "8202 8")
}

func TestOthersReadRealTables(t *testing.T) {
	dir := realdata.Folder(t, "ieee-cis")
	files := Files{
		Primary: storage.File(filepath.Join(dir, "train_transaction_394cols_1500rows.csv")), Joined: storage.File(filepath.Join(dir, "train_identity.csv")),
	}
	judged(t, fraudSchema(t), files, "1500 432")
}

// The examples of the documentation run, and we read what the second writes.
func TestDocumentedTableExamples(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "table.md"))
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, block := range strings.Split(string(doc), "```python\n")[1:] {
		script, _, _ := strings.Cut(block, "```")
		scripts = append(scripts, script)
	}
	if len(scripts) != 2 {
		t.Fatalf("the documentation has %d examples", len(scripts))
	}
	py := judge.Python(t, "numpy", "pandas", "pyarrow")
	f, e, split := randomFrame(t, TableGroupRows+50)
	path := writeTo(t, e, f, split)
	if out := judge.Run(t, py, filepath.Dir(path), scripts[0]); !strings.Contains(out, "(pooled)") || !strings.Contains(out, "train") {
		t.Errorf("the first example prints\n%s", out)
	}
	judge.Run(t, py, filepath.Dir(path), scripts[1])
	for i := range split {
		split[i] = "val"
		if i%4 != 0 {
			split[i] = "train"
		}
	}
	sameTable(t, mustOpen(t, filepath.Join(filepath.Dir(path), "own.parquet")), e, f, split)
}

// Files of others may have doubles, nulls for gaps, dictionaries and other row
// groups.
func TestReadsTablesOfPyArrow(t *testing.T) {
	const rewrite = `
import sys, json, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
options = json.loads(sys.argv[3])
if options.pop("double"):
  for i, name in enumerate(t.column_names):
    if pa.types.is_floating(t.column(i).type):
      v = pc.cast(t.column(i), pa.float64())
      t = t.set_column(i, name, pc.if_else(pc.is_nan(v), pa.scalar(None, pa.float64()), v))
pq.write_table(t, sys.argv[2], **options)
`
	py := judge.Python(t, "pyarrow")
	f, e, split := randomFrame(t, 300)
	path := writeTo(t, e, f, split)
	for name, options := range map[string]string{
		"default":       `{"double": false}`,
		"nulls":         `{"double": true}`,
		"small groups":  `{"double": true, "row_group_size": 37, "use_dictionary": false, "compression": "zstd"}`,
		"pages, no zip": `{"double": false, "data_page_size": 100, "compression": "none", "data_page_version": "2.0"}`,
		"lz4":           `{"double": false, "compression": "lz4", "data_page_version": "2.0", "use_dictionary": false}`,
		"checksums":     `{"double": true, "compression": "lz4", "write_page_checksum": true, "use_byte_stream_split": ["amount"], "use_dictionary": false}`,
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "own.parquet")
			judge.Run(t, py, "", rewrite, path, out, options)
			sameTable(t, mustOpen(t, out), e, f, split)
		})
	}
}

// Integer ids become decimal text.
func TestIntegerIDsOfTables(t *testing.T) {
	py := judge.Python(t, "pyarrow")
	f, e, split := randomFrame(t, 20)
	path := writeTo(t, e, f, split)
	judge.Run(t, py, filepath.Dir(path), `
import sys, pyarrow as pa, pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
for kind, first in ("int32", -3), ("int64", 2**53 + 1), ("uint64", 2**63):
  pq.write_table(t.set_column(t.column_names.index("id"), "id", pa.array([first + i for i in range(20)], kind)), kind + ".parquet")
`, path)
	for kind, want := range map[string][]string{
		"int32": {"-3", "-2"}, "int64": {"9007199254740993", "9007199254740994"}, "uint64": {"9223372036854775808", "9223372036854775809"},
	} {
		table := mustOpen(t, filepath.Join(filepath.Dir(path), kind+".parquet"))
		if got := table.IDs()[:2]; !slices.Equal(got, want) {
			t.Errorf("ids are %q, expected %q", got, want)
		}
	}
}
