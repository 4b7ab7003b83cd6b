package cascade

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/judge"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// judged runs a file in Python's ONNX Runtime on rows from JSON, all at once and row by row. Null is NaN.
const judged = `
import json, sys
import numpy as np, onnx, onnxruntime
path, case = sys.argv[1], json.load(open(sys.argv[2]))
onnx.checker.check_model(path, full_check=True)
model = onnx.load(path)
assert {o.domain for o in model.opset_import} <= {"", "ai.onnx"}
s = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
floats = lambda rows: np.array([[np.nan if v is None else v for v in row] for row in rows], np.float32)
feeds = {k: np.array(case[k], bool) if k in ("executed", "available") else floats(case[k])
         for k in ("features", "observed", "executed", "expert_fees", "advice_fees", "pair_fees", "available") if k in case}
assert [i.name for i in s.get_inputs()] == list(feeds)
names = [o.name for o in s.get_outputs()]
assert names == ["action", "accept", "expected_loss", "remaining_cost", "expected_cost"]
out = s.run(names, feeds)
for n in range(len(out[0])):
    row = s.run(names, {k: v[n:n+1] for k, v in feeds.items()})
    for name, got, want in zip(names, row, out):
        assert np.allclose(got[0], want[n], rtol=1e-5, atol=1e-5, equal_nan=True), f"row {n}: {name} {got[0]} and {want[n]}"
empty = s.run(names, {k: v[:0] for k, v in feeds.items()})
assert all(len(v) == 0 for v in empty)
null = lambda v: [None if x != x else float(x) for x in v]
print(json.dumps({"action": out[0].tolist(), "accept": out[1].tolist(), "loss": null(out[2]), "remaining": null(out[3])}))
`

// judgedInNode is the same in WebAssembly, for all rows at once.
const judgedInNode = `
const ort = require("onnxruntime-web"), fs = require("fs");
(async () => {
  const c = JSON.parse(fs.readFileSync(process.argv[3]));
  const s = await ort.InferenceSession.create(fs.readFileSync(process.argv[2]), {executionProviders: ["wasm"]});
  const floats = (rows) => new ort.Tensor("float32", Float32Array.from(rows.flat().map((v) => v === null ? NaN : v)), [rows.length, rows[0].length]);
  const out = await s.run({features: floats(c.features), observed: floats(c.observed),
    executed: new ort.Tensor("bool", Uint8Array.from(c.executed.flat()), [c.executed.length, c.executed[0].length])});
  const list = (name) => Array.from(out[name].data, Number);
  console.log(JSON.stringify({action: list("action"), accept: list("accept").map(Boolean), loss: list("expected_loss"), remaining: list("remaining_cost")}));
})();
`

// judgedCase writes a file and rows in all kinds of states, and returns what Go decides on them. For any price, every row has its own.
func judgedCase(t *testing.T, dir string, anyPrice bool) (file, rows string, want *Decisions) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	p := planted(rng, 3, 4, 16)
	if anyPrice {
		p = plantedAny(rng, 3, 4, 16)
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	file, rows = filepath.Join(dir, "cascade.onnx"), filepath.Join(dir, "rows.json")
	if err := m.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	r := randomRows(rng, p, 200)
	for i, v := range r.Observed {
		if !known(v) {
			r.Observed[i] = nan
		}
	}
	d := open(t, orttest.Open(t, 0), p)
	boolean := func(v bool) any { return v }
	values := map[string]any{
		"features": split(r.Features, r.N, number), "observed": split(r.Observed, r.N, number), "executed": split(r.Executed, r.N, boolean),
	}
	var at []*policy.Prices
	if anyPrice {
		at = randomPrices(rng, d.Info(), r.N)
		for name, of := range map[string]int{policy.ExpertFeesInput: 3, policy.AdviceFeesInput: 2, policy.PairFeesInput: 6} {
			var all []float32
			for _, p := range at {
				all = append(all, p.Tensors()[name].Float32s()...)
			}
			if len(all) != of*r.N {
				t.Fatalf("%d values of %s", len(all), name)
			}
			values[name] = split(all, r.N, number)
		}
		var all []bool
		for _, p := range at {
			all = append(all, p.Available...)
		}
		values[policy.AvailableInput] = split(all, r.N, boolean)
	}
	if want, err = d.NextAt(t.Context(), at, r); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(values)
	if err == nil {
		err = os.WriteFile(rows, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, rows, want
}

func number(v float32) any {
	if v != v {
		return nil
	}
	return v
}

func split[T any](values []T, rows int, as func(T) any) (out [][]any) {
	for row := range slices.Chunk(values, len(values)/rows) {
		var list []any
		for _, v := range row {
			list = append(list, as(v))
		}
		out = append(out, list)
	}
	return out
}

func (d *Decisions) compare(t *testing.T, by, text string) {
	t.Helper()
	var got struct {
		Action          []int64
		Accept          []bool
		Loss, Remaining []*float64
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err, text)
	}
	near := func(a *float64, b float32) bool {
		return a == nil && b != b || a != nil && math.Abs(*a-float64(b)) < 1e-5
	}
	for n, action := range d.Action {
		if got.Action[n] != action || got.Accept[n] != d.Accept[n] || !near(got.Loss[n], d.Loss[n]) || !near(got.Remaining[n], d.Remaining[n]) {
			t.Errorf("row %d: %s has %d, %t, Go %d, %t, %g, %g", n, by, got.Action[n], got.Accept[n], action, d.Accept[n], d.Loss[n], d.Remaining[n])
		}
	}
}

// Python's ONNX Runtime decides as Go does, on rows in different states at once and one at a time. onnx.checker accepts
// the file.
func TestPythonDecides(t *testing.T) {
	py := judge.Python(t, "onnx", "onnxruntime")
	for _, anyPrice := range []bool{false, true} {
		file, rows, want := judgedCase(t, t.TempDir(), anyPrice)
		want.compare(t, "Python", judge.Run(t, py, "", judged, file, rows))
	}
}

// So does the runtime of browsers.
func TestNodeDecides(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "judge.cjs")
	if err := os.WriteFile(script, []byte(judgedInNode), 0o666); err != nil {
		t.Fatal(err)
	}
	file, rows, want := judgedCase(t, dir, false)
	out, err := judge.Node(t, "onnxruntime-web", script, file, rows).Output()
	if err != nil {
		t.Fatal(err)
	}
	want.compare(t, "node", string(out))
}
