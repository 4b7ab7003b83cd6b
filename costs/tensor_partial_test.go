package costs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

var nan32 = float32(math.NaN())

// partialTensor is interopTensor with times, and with unknown outcomes in every third row.
func partialTensor() *Tensor {
	t := interopTensor()
	for n := range t.IDs {
		t.Times = append(t.Times, 1767225600_000000+int64(n)*61_000001)
		if n%3 == 0 {
			t.Loss[n*4+n%2] = nan32
			t.Fee[n*4+n%2] = nan32
		}
	}
	return t
}

func TestUnknownOutcomesAreRefusedUnlessPermitted(t *testing.T) {
	dir, tensor := t.TempDir(), partialTensor()
	path, parts := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "parts")
	if err := errors.Join(Write(t.Context(), storage.File(path), tensor), writeParts(t.Context(), parts, tensor, 1500)); err != nil {
		t.Fatal(err)
	}
	_, err := Read(t.Context(), storage.File(path), ReadOptions{})
	dataerrortest.Check(t, err, path, 1, "loss[0]", "is null: the outcome is unknown, and this step needs all outcomes")
	dataerrortest.Check(t, drain(path, 7), path, 1, "loss[0]", "the outcome is unknown")
	_, err = Read(t.Context(), storage.File(parts), ReadOptions{})
	dataerrortest.Check(t, err, filepath.Join(parts, "part-00000.parquet"), 1, "loss[0]", "the outcome is unknown")
	dataerrortest.Check(t, tensor.Validate(), "", 1, "loss[0]", "is NaN (e0/none): the outcome is unknown")
	if err := tensor.ValidatePartial(); err != nil {
		t.Error(err)
	}
	if got := tensor.UnknownCells(); got != 1667 {
		t.Errorf("%d unknown cells", got)
	}
	complete := tensor.CompleteRows(everyRow(tensor.Len()))
	if len(complete) != 5000-1667 || complete[0] != 1 {
		t.Errorf("%d complete rows, from %d", len(complete), complete[0])
	}
	if got := tensor.KnownRows(everyRow(tensor.Len())); !slices.Equal(got, []int{5000 - 834, 5000 - 833, 5000, 0}) {
		t.Errorf("known: %v", got)
	}
	if tensor.Subset(complete).Validate() != nil {
		t.Error("complete rows are not valid")
	}
}

func TestBadTimesAndUnknownFees(t *testing.T) {
	for want, spoil := range map[string]func(*Tensor){
		"row 3: column time: is -9000000000000000000 microseconds": func(t *Tensor) { t.Times[2] = -9e18 },
		"row 2: column time: is 9000000000000000000":               func(t *Tensor) { t.Times[1] = 9e18 },
		"column time: has 19 values for 20 rows":                   func(t *Tensor) { t.Times = t.Times[1:] },
		"row 2: column fee[0]: is unknown, but the loss":           func(t *Tensor) { t.Fee[4] = nan32 },
		"row 2: column loss[1]: is +Inf":                           func(t *Tensor) { t.Loss[5] = float32(math.Inf(1)) },
		"row 1: column fee[2]: is -1":                              func(t *Tensor) { t.Fee[2] = -1 },
	} {
		tensor := testTensor(6, 20, 3, testActions(2, 2))
		tensor.Times = make([]int64, 20)
		spoil(tensor)
		if err := tensor.ValidatePartial(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q", err, want)
		}
	}
}

// A fee that is unknown although the loss is known is found in files too.
func TestUnknownFeesOfFiles(t *testing.T) {
	f := goodRaw()
	f.lists[colLoss][1][2], f.lists[colFee][1][2] = nil, nil
	f.lists[colLoss][3][0] = math.NaN()
	got, err := Read(t.Context(), storage.File(f.write(t)), ReadOptions{Unknown: true})
	if err != nil || got.UnknownCells() != 2 || got.Fee[6] == got.Fee[6] || got.Fee[12] != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	f.lists[colFee][2][1] = nil
	path := f.write(t)
	_, err = Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
	dataerrortest.Check(t, err, path, 3, "fee[1]", "is unknown, but the loss of the pair is known")
	r, err := OpenReader(t.Context(), storage.File(path), ReadOptions{Unknown: true, BatchRows: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, first := r.Next()
	_, second := r.Next()
	dataerrortest.Check(t, errors.Join(first, second), path, 3, "fee[1]", "is unknown")
	f.lists[colLoss][0] = f.lists[colLoss][0][:3]
	path = f.write(t)
	_, err = Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
	dataerrortest.Check(t, err, path, 1, "loss", "has 3 values, expected 4")
}

type timedRow[T any] struct {
	ID       string    `parquet:"id"`
	Split    string    `parquet:"split"`
	Features []float32 `parquet:"features,list"`
	Loss     []float32 `parquet:"loss,list"`
	Time     T         `parquet:"time"`
}

func readTimes[T any](t *testing.T, times ...T) ([]int64, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	var rows []timedRow[T]
	for i, v := range times {
		rows = append(rows, timedRow[T]{fmt.Sprint(i), "train", []float32{1}, []float32{0, 1, 0, 1}, v})
	}
	if err := parquet.WriteFile(path, rows, parquet.KeyValueMetadata(ActionsKey, string(testActions(2, 2).JSON()))); err != nil {
		t.Fatal(err)
	}
	tensor, err := Read(t.Context(), storage.File(path), ReadOptions{})
	if err != nil {
		return nil, err
	}
	return tensor.Times, nil
}

// Integers without a type are microseconds, and refused where they cannot be.
func TestPlainTimes(t *testing.T) {
	day := time.Date(2026, 2, 3, 4, 5, 6, 789012000, time.UTC)
	if got, err := readTimes(t, day.UnixMicro(), -day.UnixMicro()); err != nil || !slices.Equal(got, []int64{day.UnixMicro(), -day.UnixMicro()}) {
		t.Error(got, err)
	}
	for want, v := range map[string]int64{
		"row 2: column time: is 1770091506; plain integers are microseconds": day.Unix(),
		"is 1770091506789; plain integers are microseconds":                  day.UnixMilli(),
		"which is not in the years 1 to 9999":                                day.UnixNano(),
	} {
		if _, err := readTimes(t, day.UnixMicro(), v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: error is %v", v, err)
		}
	}
	_, text := readTimes(t, "2026-01-01")
	_, small := readTimes(t, int32(7))
	_, unsigned := readTimes(t, uint64(7))
	for _, err := range []error{text, small, unsigned} {
		if err == nil || !strings.Contains(err.Error(), "expected a timestamp in UTC, or int64 microseconds since 1970") {
			t.Errorf("error is %v", err)
		}
	}
}

const timeTable = makeTable + `
n = 200
micros = [1767225600000000 + i * 61000001 for i in range(n)]
loss = [[None if i % 3 == 0 and a == i % 2 else float(v) for a, v in enumerate(row)] for i, row in enumerate(loss[:n].tolist())]
for row in loss:
  row[3] = None
def columns(times):
  return dict(id=ids[:n], split=split[:n], features=x[:n].tolist(), loss=loss, time=times)
open("actions.json", "w").write(actions)
import pyarrow as pa, pyarrow.parquet as pq, polars as pl, duckdb, pandas as pd
read = {}
for unit, step in ("ms", 1000), ("us", 1), ("ns", 1):
  t = pa.array([m // step for m in micros], pa.int64())
  if unit == "ns":
    t = pa.array([m * 1000 + 999 for m in micros], pa.int64())
  for name, kind in (unit, pa.timestamp(unit, "UTC")), (unit + "-oslo", pa.timestamp(unit, "Europe/Oslo")), (unit + "-local", pa.timestamp(unit)):
    tab = pa.table(columns(t.cast(kind)))
    pq.write_table(tab, "arrow-" + name + ".parquet", version="2.6")
    pl.from_arrow(tab).write_parquet("polars-" + name + ".parquet")
    tab.to_pandas().to_parquet("pandas-" + name + ".parquet")
    duckdb.sql("set timezone = 'UTC'")
    duckdb.sql("copy (select * from tab) to 'duck-%s.parquet' (format parquet)" % name)
    # what others read in the files, to the microsecond
    for who in "arrow", "polars", "pandas", "duck":
      back = pq.read_table(who + "-" + name + ".parquet")["time"]
      per = {"s": 1000000, "ms": 1000, "us": 1, "ns": None}[back.type.unit]
      values = back.cast(pa.int64()).to_pylist()
      read[who + "-" + name] = [v * per if per else v // 1000 for v in values]
pq.write_table(pa.table(columns(pa.array(micros, pa.int64()))), "arrow-plain.parquet")
read["arrow-plain"] = micros
pq.write_table(pa.table(columns(pa.array([m % 86400000000 for m in micros], pa.time64("us")))), "arrow-clock.parquet")
pq.write_table(pa.table(columns(pa.array([20000] * n, pa.date32()))), "arrow-date.parquet")
pq.write_table(pa.table(columns(pa.array([None] + micros[1:], pa.timestamp("us", "UTC")))), "arrow-null.parquet")
json.dump(read, open("read.json", "w"))
`

// Times and unknown outcomes of pyarrow, polars, pandas and DuckDB are read as pyarrow reads them. Timestamps without a
// time zone, times of day, dates and nulls are refused.
func TestTimesOfOthers(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow", "polars", "duckdb", "pandas")
	dir := t.TempDir()
	judge.Run(t, py, dir, timeTable)
	var read map[string][]int64
	b, err := os.ReadFile(filepath.Join(dir, "read.json"))
	if err := errors.Join(err, json.Unmarshal(b, &read)); err != nil {
		t.Fatal(err)
	}
	for name, want := range read {
		path := filepath.Join(dir, name+".parquet")
		got, err := Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
		if strings.HasSuffix(name, "-local") {
			dataerrortest.Check(t, err, path, 0, "time", "timestamps without a time zone; write them in UTC")
			continue
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !slices.Equal(got.Times, want):
			t.Errorf("%s: times %v, expected %v", name, got.Times[:3], want[:3])
		case got.UnknownCells() != 67 || got.Loss[0] == got.Loss[0] || got.Loss[1] != 0.5:
			t.Errorf("%s: %d unknown cells", name, got.UnknownCells())
		}
	}
	if len(read) != 37 {
		t.Errorf("%d files", len(read))
	}
	for name, msg := range map[string]string{"clock": "expected a timestamp in UTC", "date": "expected a timestamp in UTC", "null": "row 1: column time: is null"} {
		if _, err := Read(t.Context(), storage.File(filepath.Join(dir, "arrow-"+name+".parquet")), ReadOptions{Unknown: true}); err == nil || !strings.Contains(err.Error(), msg) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

const readPartial = makeTable + `
import pyarrow.parquet as pq, polars as pl, duckdb, pandas as pd
path = sys.argv[1]
start = 1767225600000000
schema = pq.read_schema(path)
assert str(schema.field("time").type) == "timestamp[us, tz=UTC]", schema
t = pq.read_table(path)
assert t["time"].cast("int64").to_pylist() == [start + i * 61000001 for i in range(n)]
unknown = [(i, i % 2) for i in range(0, n, 3)]
def nulls(rows):
  return [(i, a) for i, row in enumerate(rows) for a, v in enumerate(row) if a != 3 and (v is None or v != v)]
for name in "loss", "fee":
  assert nulls(t[name].to_pylist()) == unknown, name
p = pl.read_parquet(path)
assert str(p.schema["time"]) == "Datetime(time_unit='us', time_zone='UTC')", p.schema
assert p["time"].dt.epoch("us").to_list()[:3] == [start, start + 61000001, start + 122000002]
assert nulls(p["loss"].to_list()) == unknown
rows = duckdb.sql("select epoch_us(time), loss from '%s'" % path).fetchall()
assert [r[0] for r in rows] == [start + i * 61000001 for i in range(n)]
assert nulls([r[1] for r in rows]) == unknown
d = pd.read_parquet(path)
assert str(d["time"].dtype) in ("datetime64[us, UTC]", "datetime64[ns, UTC]"), d.dtypes
assert nulls(d["loss"]) == unknown
assert str(d["time"][1]) == "2026-01-01 00:01:01.000001+00:00", d["time"][1]
`

func TestOthersReadTimesAndUnknownOutcomes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := Write(t.Context(), storage.File(path), partialTensor()); err != nil {
		t.Fatal(err)
	}
	judge.Run(t, judge.Python(t, "numpy", "pyarrow", "polars", "duckdb", "pandas"), "", readPartial, path)
}
