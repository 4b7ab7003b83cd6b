package decisionlog

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/judge"
)

// readers read the segments with pyarrow, polars and DuckDB and compare every column with what was added.
const readers = `
import glob, json, struct, sys
import duckdb, polars, pyarrow.parquet as pq
single = lambda v: struct.unpack("f", struct.pack("f", v))[0]
want = json.load(open(sys.argv[1] + "/want.json"))
files = sorted(glob.glob(sys.argv[1] + "/decisions-*.parquet"))
arrow = [r for f in files for r in pq.read_table(f).to_pylist()]
frame = polars.read_parquet(files).to_dicts()
assert dict(duckdb.sql("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(%r))" % files).fetchall())["time"] == "TIMESTAMP WITH TIME ZONE"
q = duckdb.sql("SELECT * REPLACE (epoch_us(time) AS time) FROM read_parquet(%r)" % files)
duck = [dict(zip(q.columns, r)) for r in q.fetchall()]
for rows in (arrow, frame, duck):
    assert len(rows) == len(want), (len(rows), len(want))
    for r, w in zip(rows, want):
        p = "".join(r["expert"]), r["advice"]
        time = r["time"] if rows is duck else round(r["time"].timestamp() * 1e6)
        assert r["id"] == w["ID"] and time == w["Time"] and r["request"] == w["Request"] and r["client"] == "Zoë"
        assert r["action"] == w["Action"] and r["propensity"] == w["Propensity"] and r["probability"] == w["Propensity"][w["Action"]]
        assert p == ("expert%d" % (w["Action"] // 2), "advice%d" % (w["Action"] % 2)), p
        assert r["available"] == w["Available"] and r["features"] == [single(v) for v in w["Features"]] and r["expert_fees"] == w["ExpertFees"]
        assert r["pair_fees"] == w["PairFees"], (r["pair_fees"], w["PairFees"])
        assert r["share"] == w["Share"] and r["own_propensity"] == w["OwnPropensity"], (r["own_propensity"], w["OwnPropensity"])
        assert r["canary"] == w["Canary"] and r["keep"] == 1 and r["executed"] == w["Executed"] and r["first_byte_us"] == w["Stages"]["FirstByte"]
        if w["FeeKnown"]:
            assert r["fee"] == 0.125 and r["tokens_cached"] == 3 and r["attempt_status"] == [500, 200] and r["attempt_error"] == ["overload", ""]
            assert r["shadow_policy"] == ["other", "third"] and r["shadow_cost"] == [0.25, 2]
            assert [c is not None for c in r["expected_cost"]] == w["Available"]
            assert all(c is None or c == single(e) for c, e in zip(r["expected_cost"], w["Costs"]))
        else:
            assert r["fee"] is None and r["tokens_in"] is None and r["expected_cost"] is None and r["attempt_us"] == [] and r["shadow_action"] == []
sql = "SELECT count(*), avg(o.loss), count(o.score), bool_or(o.correct) FROM '%s/decisions-*.parquet' d JOIN '%s/outcomes-*.parquet' o USING (id)"
assert duckdb.sql("SELECT count(pair_fees) FROM read_parquet(%r)" % files).fetchall()[0][0] == sum(w["PairFees"] is not None for w in want) > 0
n, loss, score, correct = duckdb.sql(sql % (sys.argv[1], sys.argv[1])).fetchall()[0]
assert n == len(want) and loss == (len(want) - 1) / 2 and score == 0 and correct is None, (n, loss, score, correct)
meta = pq.ParquetFile(files[0]).metadata.metadata
assert json.loads(meta[b"pipe.log"])["format"] == "pipe decisions"
about = json.loads(meta[b"pipe.log.policies"])
assert about[0]["digest"] == arrow[0]["digest"] and about[0]["actions"]["experts"][1] == {"name": "expert1", "fee": 1}
print("ok")
`

// The segments are Parquet as pyarrow, polars and DuckDB understand it.
func TestOtherReaders(t *testing.T) {
	python := judge.Python(t, "duckdb", "polars", "pyarrow")
	folder, p := t.TempDir(), testPolicy(2, 2, 5)
	s := quick()
	s.SegmentBytes = 1 << 16
	w := openTest(t, folder, s, p)
	rng := rand.New(rand.NewPCG(1, 1))
	type wanted struct {
		*Record
		ExpectedLoss, ExpectedCost, Shadows any `json:",omitempty"` // NaN is no JSON
		Costs                               []float32
	}
	var want []wanted
	for n := range 150 {
		r := testRecord(rng, &p)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Outcome(Outcome{ID: r.ID, Loss: number(float64(n))}); err != nil {
			t.Fatal(err)
		}
		costs := append([]float32{}, r.ExpectedCost...)
		for i := range costs {
			if !r.Available[i] {
				costs[i] = 0
			}
		}
		want = append(want, wanted{Record: r, Costs: costs})
		if n%50 == 0 {
			waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "want.json"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := judge.Run(t, python, "", readers, folder); out != "ok\n" {
		t.Error(out)
	}
}
