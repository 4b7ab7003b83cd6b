package costs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// makeTable builds the same table in Python that interopTensor builds here.
const makeTable = `
import sys, json, numpy as np
n, d, a = 5000, 7, 4
r = np.arange(n)
x = ((r[:, None] * 31 + np.arange(d) * 17) % 1009 / 64 - 5).astype("float32")
loss = ((r[:, None] + np.arange(a)) % 3 / 2).astype("float32")
loss[:, 3] = np.nan
fee = ((r[:, None] * np.arange(a)) % 5 / 8).astype("float32")
ids = ["id %d" % i for i in r]
split = [["train", "val", "test"][i % 3] for i in r]
group = ["user %d" % (i // 3) for i in r]
label = ["класс %d" % (i % 7) for i in r]
prediction = [["класс %d" % ((i + k) % 7) for k in range(a)] for i in r]
actions = json.dumps({"format": 1,
  "experts": [{"name": "e0", "fee": 0}, {"name": "e1", "fee": 0.0625}],
  "advice": [{"name": "none"}, {"name": "a1", "fee": 0.03125}],
  "unavailable": [{"expert": "e1", "advice": "a1"}]})
`

func interopTensor() *Tensor {
	a := testActions(2, 2)
	a.Unavailable = []Pair{{1, 1}}
	t := testTensor(1, 5000, 7, a)
	t.Usage = Usage{}
	classes := strings.Fields("0 1 2 3 4 5 6")
	for n := range t.IDs {
		t.IDs[n] = fmt.Sprint("id ", n)
		t.Splits[n] = Split(n % 3)
		t.Groups[n] = fmt.Sprint("user ", n/3)
		t.Labels[n] = "класс " + classes[n%7]
		for c := range t.Dim {
			t.Features[n*t.Dim+c] = float32((n*31+c*17)%1009)/64 - 5
		}
		for i := range 4 {
			if i != 3 {
				t.Loss[n*4+i] = float32((n+i)%3) / 2
			}
			t.Fee[n*4+i] = float32(n*i%5) / 8
			t.Predictions[n*4+i] = "класс " + classes[(n+i)%7]
		}
	}
	return t
}

const arrowTable = makeTable + `
import pyarrow as pa, pyarrow.parquet as pq
def write(out, options):
  number, large = (np.float64 if options.pop("double", False) else np.float32), options.pop("large", False)
  as_list = (lambda v: pa.array(list(v), pa.large_list(pa.from_numpy_dtype(number)))) if large else (lambda v: pa.array(list(v)))
  t = pa.table({"zz": r, "prediction": prediction, "fee": as_list(fee.astype(number)), "id": pa.array(ids, pa.large_string() if large else pa.string()),
    "label": label, "loss": as_list(loss.astype(number)), "features": as_list(x.astype(number)), "split": split, "group": group})
  if options.pop("fixed", False):
    t = t.set_column(t.column_names.index("features"), "features", pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), d))
  pq.write_table(t.replace_schema_metadata({"pipe.actions": actions}), out, **options)
for name, options in json.loads(sys.argv[1]).items():
  write(name + ".parquet", options)
`

func TestReadsFilesOfPyArrow(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow")
	files := map[string]json.RawMessage{}
	for name, options := range map[string]string{
		"default":            `{}`,
		"plain":              `{"use_dictionary": false, "compression": "none"}`,
		"zstd, small groups": `{"compression": "zstd", "row_group_size": 777, "data_page_size": 1000}`,
		"float64":            `{"double": true}`,
		"large list":         `{"large": true}`,
		"fixed size list":    `{"fixed": true}`,
		"float64, no dict":   `{"double": true, "use_dictionary": false, "data_page_version": "2.0"}`,
		"item names":         `{"use_compliant_nested_type": false}`,
		"lz4":                `{"compression": "lz4"}`,
		"lz4, version 2":     `{"compression": "lz4", "data_page_version": "2.0", "use_dictionary": false}`,
		"stream split":       `{"use_dictionary": ["id"], "use_byte_stream_split": ["features.list.element"]}`,
	} {
		files[name] = json.RawMessage(options)
	}
	list, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	dir, want := t.TempDir(), interopTensor()
	judge.Run(t, py, dir, arrowTable, string(list)) // one process for all: importing takes longer than writing
	for name := range files {
		t.Run(name, func(t *testing.T) { sameTensor(t, filepath.Join(dir, name+".parquet"), want) })
	}
}

func sameTensor(t *testing.T, path string, want *Tensor) {
	t.Helper()
	got, err := Read(t.Context(), storage.File(path), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got.Meta = nil
	if d := diffTensors(want, got); d != "" {
		t.Errorf("tensor differs:\n%s", d[:min(len(d), 2000)])
	}
}

// With polars, DuckDB and pandas the actions are in a file next to the tensor.
const otherTable = makeTable + `
out, who = sys.argv[1], sys.argv[2]
open(out.rsplit("/", 1)[0] + "/actions.json", "w").write(actions)
columns = dict(id=ids, split=split, group=group, label=label, features=list(x), loss=list(loss), fee=list(fee), prediction=prediction)
if who == "polars":
  import polars as pl
  f = pl.List(pl.Float32)
  pl.DataFrame({**columns, "features": x.tolist(), "loss": loss.tolist(), "fee": fee.tolist()},
    schema_overrides={"features": f, "loss": f, "fee": f}).write_parquet(out)
elif who == "pandas":
  import pandas as pd
  pd.DataFrame(columns).to_parquet(out)
else:
  import duckdb, pyarrow as pa
  t = pa.table(columns)
  duckdb.sql("copy (select * from t) to '%s' (format parquet)" % out)
`

func TestReadsFilesOfOthers(t *testing.T) {
	want := interopTensor()
	for _, who := range []string{"polars", "pandas", "duckdb"} {
		t.Run(who, func(t *testing.T) {
			py := judge.Python(t, "numpy", "pyarrow", who)
			path := filepath.Join(t.TempDir(), "t.parquet")
			judge.Run(t, py, "", otherTable, path, who)
			sameTensor(t, path, want)
		})
	}
}

const readBack = makeTable + `
path, who = sys.argv[1], sys.argv[2]
if who == "pyarrow":
  import pyarrow.parquet as pq
  t = pq.read_table(path)
  assert json.loads(t.schema.metadata[b"pipe.actions"])["unavailable"] == [{"expert": "e1", "advice": "a1"}]
  got = t.to_pydict()
elif who == "polars":
  import polars as pl
  got = pl.read_parquet(path).to_dict(as_series=False)
elif who == "pandas":
  import pandas as pd
  got = pd.read_parquet(path).to_dict("list")
else:
  import duckdb
  got = duckdb.sql("select * from '%s'" % path).arrow().read_all().to_pydict()
assert list(got) == ["id", "split", "group", "label", "features", "loss", "fee", "prediction"], list(got)
assert got["id"] == ids and got["split"] == split and got["group"] == group and got["label"] == label
assert [list(p) for p in got["prediction"]] == prediction
for name, want in (("features", x), ("loss", loss), ("fee", fee)):
  have = np.array([list(v) for v in got[name]], dtype="float32")
  assert np.array_equal(have, want, equal_nan=True), name
`

func TestOthersReadOurFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := Write(t.Context(), storage.File(path), interopTensor()); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"pyarrow", "polars", "pandas", "duckdb"} {
		t.Run(who, func(t *testing.T) {
			judge.Run(t, judge.Python(t, "numpy", "pyarrow", who), "", readBack, path, who)
		})
	}
}

// The example of the documentation writes a file that we read.
func TestDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(realdata.Root(t), "docs", "cost-tensor.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```python\n")
	script, _, found := strings.Cut(rest, "```")
	if !found || strings.Count(script, "\n") > 10 {
		t.Fatalf("the documentation has no example of at most ten lines:\n%s", script)
	}
	_, rest, _ = strings.Cut(rest, "```python\n")
	facts, _, _ := strings.Cut(rest, "```")
	py := judge.Python(t, "numpy", "pyarrow")
	dir := t.TempDir()
	judge.Run(t, py, dir, script+facts)
	got, err := Read(t.Context(), storage.File(filepath.Join(dir, "costs.parquet")), ReadOptions{})
	if err != nil || got.Len() != 1000 || got.Dim != 16 || got.Actions.Len() != 4 || len(got.Rows(Val)) != 250 {
		t.Errorf("read %v: %v", got, err)
	}
	confidence, label := got.Fact("confidence"), got.Fact("label")
	if len(got.Facts) != 2 || confidence.Data[4] != 0.9 || confidence.Data[5] == confidence.Data[5] || label.Text(6) != "no" || label.Text(7) != "" {
		t.Errorf("facts %+v", got.Facts)
	}
}

// The documented JSON is what the parser reads.
func TestDocumentedActions(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(realdata.Root(t), "docs", "cost-tensor.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```json\n")
	text, _, _ := strings.Cut(rest, "```")
	if a, err := ParseActions([]byte(text)); err != nil || a.Len() != 4 {
		t.Errorf("%v", err)
	}
}
