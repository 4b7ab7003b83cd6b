package grow

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

// judgeScript reads the files of every case with pyarrow, joins and compares them with polars and DuckDB, and compares
// the results with those of Merge and Diff.
const judgeScript = `
import json, sys, math, duckdb, numpy as np, polars as pl, pyarrow as pa, pyarrow.parquet as pq
def cells(t, name):
  return np.array([[math.nan if v is None else v for v in row] for row in t[name].to_pylist()])
for case in sys.argv[1:]:
  a, b, joined = (pq.read_table("%s/%s.parquet" % (case, n)) for n in ("a", "b", "joined"))
  both = pl.concat([pl.from_arrow(a), pl.from_arrow(b)])
  assert both.equals(pl.from_arrow(joined)), case
  assert joined.column_names == a.column_names
  parts = json.loads(joined.schema.metadata[b"pipe.parts"])
  assert [p["rows"] for p in parts] == [a.num_rows, b.num_rows]

  c, report = pq.read_table(case + "/c.parquet"), json.load(open(case + "/diff.json"))
  con = duckdb.connect()
  con.register("x", a), con.register("y", c)
  q = lambda text: con.execute(text).fetchone()
  assert report["rows_in_both"] == q("select count(*) from x join y using (id)")[0], case
  assert report["a"]["only_here"]["rows"] == q("select count(*) from x anti join y using (id)")[0]
  assert report["b"]["only_here"]["rows"] == q("select count(*) from y anti join x using (id)")[0]
  values = {v["column"]: v for v in report.get("values", [])}
  for column in ("split", "group", "time", "label"):
    want = q('select count(*) from x join y using (id) where x."%s" is distinct from y."%s"' % (column, column))[0]
    have = values.get(column, {"rows": 0, "values": 0})
    assert have["rows"] == have["values"] == want, (case, column, have, want)
  for column in ("features", "loss", "fee", "prediction", "observed_confidence", "observed_finish", "observed_label"):
    rows, count, largest = q('''with p as (select x.id, unnest(x."%s") u, unnest(y."%s") v from x join y using (id))
      select count(distinct id), count(*), max(%s) from p where u is distinct from v''' % (column, column, "0" if column in ("prediction", "observed_finish", "observed_label") else "abs(u::double - v::double)"))
    have = values.get(column, {"rows": 0, "values": 0})
    assert (have["rows"], have["values"]) == (rows, count), (case, column, have, rows, count)
    if largest:
      assert abs(have["largest"]["difference"] - largest) <= 1e-12, (case, column, have, largest)
  for p, pair in enumerate(report["pairs"]):
    n, u, v = q("select count(*), avg(x.loss[%d]::double), avg(y.loss[%d]::double) from x join y using (id) where x.loss[%d] is not null and y.loss[%d] is not null" % ((p + 1,) * 4))
    assert pair["rows"] == n and (n == 0 or abs(pair["a"] - u) < 1e-9 and abs(pair["b"] - v) < 1e-9), (case, pair, n, u, v)
print(len(sys.argv) - 1)
`

// Other programs join and compare the same files with the same results.
func TestOtherProgramsAgree(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow", "polars", "duckdb")
	dir := t.TempDir()
	var cases []string
	for i := range 8 {
		name := fmt.Sprint("case-", i)
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		judgeCase(t, writer{filepath.Join(dir, name)}, uint64(i))
		cases = append(cases, name)
	}
	if out := judge.Run(t, py, dir, judgeScript, cases...); out != "8\n" {
		t.Error(out)
	}
}

// judgeCase writes two halves of a tensor and their merge, a changed copy of the first, and what differs.
func judgeCase(t *testing.T, w writer, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	whole := tensorOf(seed, 60+r.IntN(100), 1+r.IntN(4), actionsOf(1+r.IntN(3), 1+r.IntN(3)))
	if seed%2 == 0 {
		whole.Loss[0], whole.Loss[len(whole.Loss)-1] = nan, nan
	}
	half := whole.Len() / 2
	first := whole.Subset(all(half))
	files := []string{w.write(t, "a.parquet", first), w.write(t, "b.parquet", whole.Subset(all(whole.Len())[half:]))}
	if _, err := Merge(context.Background(), storage.Files(files...), storage.File(w.path("joined.parquet")), MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	changed := whole.Subset(r.Perm(half + 5)[:half])
	for range 40 {
		row := r.IntN(changed.Len())
		change(changed, row, r)
	}
	report, err := Diff(context.Background(), storage.File(files[0]), storage.File(w.write(t, "c.parquet", changed)), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err == nil {
		err = os.WriteFile(w.path("diff.json"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// change changes a value of a row, or several.
func change(t *costs.Tensor, row int, r *rand.Rand) {
	pair := row*t.Actions.Len() + r.IntN(t.Actions.Len())
	switch r.IntN(11) {
	case 0:
		t.Splits[row] = (t.Splits[row] + 1) % 3
	case 1:
		t.Groups[row] += "x"
	case 2:
		t.Times[row] += 12345
	case 3:
		t.Labels[row] = "class x"
	case 4:
		for k := range t.Dim {
			t.Features[row*t.Dim+k] += float32(r.NormFloat64())
		}
	case 5:
		t.Loss[pair] = float32(r.Float64())
	case 6:
		t.Fee[pair] += 0.5
	case 7:
		t.Predictions[pair] = "class x"
	default:
		spoilFact(&t.Facts[r.IntN(3)], pair)
	}
}
