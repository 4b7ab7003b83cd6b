package costs

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

func TestBadPropensities(t *testing.T) {
	for want, spoil := range map[string]func(*Tensor){
		"row 2: column propensity[0]: is 1.5; a probability is from 0 to 1":   func(t *Tensor) { t.Propensity[4] = 1.5 },
		"row 2: column propensity[0]: is 40; a probability":                   func(t *Tensor) { t.Propensity[4] = 40 },
		"row 2: column propensity[3]: is -0.1":                                func(t *Tensor) { t.Propensity[7] = -0.1 },
		"row 3: column propensity[0]: is +Inf":                                func(t *Tensor) { t.Propensity[8] = math.Inf(1) },
		"row 2: column propensity: the probabilities of the pairs sum to":     func(t *Tensor) { t.Propensity[4] /= 2 },
		"row 2: column propensity[1]: is 0, but e0/a1 was executed":           func(t *Tensor) { observe(t, 1, 1); t.Propensity[5], t.Propensity[4] = 0, math.NaN() },
		"row 2: column propensity: the probabilities of the pairs sum to 1.4": func(t *Tensor) { copy(t.Propensities(1), []float64{0.7, 0.7, math.NaN(), 0}) },
		"column propensity: has 79 values for 20 rows, expected 80":           func(t *Tensor) { t.Propensity = t.Propensity[1:] },
		"row 1: column propensity: the probabilities of the pairs sum to 0,":  func(t *Tensor) { clear(t.Propensity) },
	} {
		tensor := testTensor(6, 20, 3, testActions(2, 2))
		tensor.Propensity = propensitiesFor(tensor, 100)
		spoil(tensor)
		if err := tensor.ValidatePartial(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q", err, want)
		}
	}
}

// Some propensities of a row may be known and others not, and rounding is no error.
func TestGoodPropensities(t *testing.T) {
	tensor := testTensor(6, 20, 3, testActions(2, 2))
	tensor.Propensity = propensitiesFor(tensor, 100)
	tensor.Propensity[4] = math.NaN()
	for i := 8; i < 12; i++ {
		tensor.Propensity[i] = float64(float32(tensor.Propensity[i]))
	}
	observe(tensor, 2, 1)
	if err := tensor.ValidatePartial(); err != nil || tensor.Observed(2) != 1 || tensor.Observed(1) != -1 {
		t.Error(err, tensor.Observed(2), tensor.Observed(1))
	}
}

// observe makes the loss of one pair the only known one of row n.
func observe(t *Tensor, n, pair int) {
	for i := range t.Losses(n) {
		if i != pair {
			t.Losses(n)[i] = nan32
		}
	}
}

// Files with bad propensities name the row, in one piece and batch by batch; files with float32 are read.
func TestPropensitiesOfFiles(t *testing.T) {
	f := goodRaw()
	for n := range 5 {
		f.lists[colPropensity] = append(f.lists[colPropensity], []any{0.1, 0.2, 0.3, 0.4})
		f.lists[colLoss][n] = []any{nil, 1.0, nil, nil}
	}
	f.lists[colPropensity][4] = []any{nil, math.NaN(), nil, nil}
	got, err := Read(t.Context(), storage.File(f.write(t)), ReadOptions{Unknown: true})
	if err != nil || math.Abs(got.Propensities(1)[3]-0.4) > 1e-7 || !math.IsNaN(got.Propensities(4)[1]) || !math.IsNaN(got.Propensities(4)[0]) {
		t.Fatalf("%v: %+v", err, got)
	}
	f.lists[colPropensity][3] = []any{0.7, 0.0, 0.3, 0.0}
	path := f.write(t)
	_, err = Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
	dataerrortest.Check(t, err, path, 4, "propensity[1]", "is 0, but e0/a1 was executed")
	r, err := OpenReader(t.Context(), storage.File(path), ReadOptions{Unknown: true, BatchRows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, first := r.Next()
	_, second := r.Next()
	dataerrortest.Check(t, second, path, 4, "propensity[1]", "is 0, but e0/a1 was executed")
	if first != nil || !r.Columns().Propensity {
		t.Error(first, r.Columns())
	}
	f.lists[colPropensity][3] = nil
	path = f.write(t)
	_, err = Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
	dataerrortest.Check(t, err, path, 4, "propensity", "is null")
}

const propensityTable = makeTable + `
import pyarrow as pa, pyarrow.parquet as pq, polars as pl, duckdb
p = [[None] * 4 if i % 5 == 0 else [0.1 + i / 1e5, 0.9 - i / 1e5, 0.0, None] for i in range(n)]
f = pa.list_(pa.float32())
t = pa.table({"id": ids, "split": split, "features": pa.array(x.tolist(), f), "loss": pa.array(loss.tolist(), f), "propensity": p})
t = t.replace_schema_metadata({"pipe.actions": actions})
pq.write_table(t, "pyarrow.parquet")
open("actions.json", "w").write(actions)
pl.from_arrow(t).write_parquet("polars.parquet")
duckdb.sql("copy (select * from t) to 'duckdb.parquet' (format parquet)")
t.to_pandas().to_parquet("pandas.parquet")
`

const readPropensity = makeTable + `
import pyarrow.parquet as pq, polars as pl, duckdb, pandas as pd
p = [[None] * 4 if i % 5 == 0 else [0.1 + i / 1e5, 0.9 - i / 1e5, 0.0, None] for i in range(n)]
path = sys.argv[1]
assert str(pq.read_schema(path).field("propensity").type) == "list<element: double>"
assert pq.read_table(path)["propensity"].to_pylist() == p
assert pl.read_parquet(path)["propensity"].to_list() == p
assert [list(v) for v, in duckdb.sql("select propensity from '%s'" % path).fetchall()] == p
none = lambda v: None if v != v else v
assert [[none(v) for v in row] for row in pd.read_parquet(path)["propensity"]] == p
`

// Propensities of other programs are read to the last bit, and they read ours.
func TestOthersKnowPropensities(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow", "polars", "pandas", "duckdb")
	dir := t.TempDir()
	judge.Run(t, py, dir, propensityTable)
	for _, who := range []string{"pyarrow", "polars", "duckdb", "pandas"} {
		got, err := Read(t.Context(), storage.File(filepath.Join(dir, who+".parquet")), ReadOptions{})
		if err != nil {
			t.Fatal(who, err)
		}
		ours := filepath.Join(t.TempDir(), "ours.parquet")
		if err := Write(t.Context(), storage.File(ours), got); err != nil {
			t.Fatal(who, err)
		}
		judge.Run(t, py, "", readPropensity, ours)
	}
}
