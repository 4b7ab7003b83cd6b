package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/judge"
)

// judgedAtPrices runs files at prices from JSON: every row at its own price, all rows at once and row by row, and each
// file with fixed prices on the row of its price. It prints actions and scores.
const judgedAtPrices = `
import json, sys
import numpy as np, onnx, onnxruntime
def session(path):
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    inputs = {i.name for i in model.graph.input}
    assert not inputs & {t.name for t in model.graph.initializer}, "an initializer can be overridden"
    assert {o.domain for o in model.opset_import} <= {"", "ai.onnx"}
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
case = json.load(open(sys.argv[1]))
feeds = {k: np.array(v, bool if k == "available" else np.float32) for k, v in case["feeds"].items()}
names = ["action", "scores", "expected_loss", "expected_cost"]
s = session(case["any"])
assert {i.name for i in s.get_inputs()} == set(feeds)
at_once = s.run(names, feeds)
by_row = [s.run(names, {k: v[n:n+1] for k, v in feeds.items()}) for n in range(len(at_once[0]))]
fixed = [session(path) for path in case["fixed"]]
assert all([i.name for i in f.get_inputs()] == ["features"] for f in fixed)
frozen = [f.run(names, {"features": feeds["features"][n:n+1]}) for n, f in enumerate(fixed)]
for rows in (by_row, frozen):
    for n, row in enumerate(rows):
        assert (row[0][0] == at_once[0][n]).all(), f"row {n}: action {row[0]} and {at_once[0][n]}"
        for name, got, want in zip(names[1:], row[1:], at_once[1:]):
            assert np.allclose(got[0], want[n], rtol=1e-5, atol=1e-5), f"row {n}: {name} {got[0]} and {want[n]}"
print(json.dumps({"action": at_once[0].tolist(), "scores": at_once[1].tolist()}))
`

// Python's ONNX Runtime decides as Go does, at drawn prices that differ by row, and has the same scores up to rounding. So
// do the files with these prices fixed. onnx.checker accepts all of them.
func TestAnyPriceInPython(t *testing.T) {
	py, dir := judge.Python(t, "onnx", "onnxruntime"), t.TempDir()
	for seed := range uint64(4) {
		p, d, x := anyPrice(t, seed)
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		rng, dim := rand.New(rand.NewPCG(seed, 10)), p.FeatureDim()
		files := map[string]any{"any": filepath.Join(dir, fmt.Sprintf("any%d.onnx", seed))}
		if err := m.WriteFile(files["any"].(string)); err != nil {
			t.Fatal(err)
		}
		feeds, fixed := map[string][]any{}, []string(nil)
		var want []*Decisions
		for n := range 20 {
			c := randomChange(rng, p)
			frozen, at, err := Freeze(m, c)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, fmt.Sprintf("fixed%d-%d.onnx", seed, n))
			if err := frozen.WriteFile(path); err != nil {
				t.Fatal(err)
			}
			fixed = append(fixed, path)
			prices, row := at.Tensors(), x[n*dim:(n+1)*dim]
			want = append(want, decideAt(t, d, at, row))
			for name, values := range map[string]any{
				FeaturesInput: row, ExpertFeesInput: prices[ExpertFeesInput].Float32s(), AdviceFeesInput: prices[AdviceFeesInput].Float32s(),
				PairFeesInput: make([]float32, p.Actions.Len()), AvailableInput: at.Available,
			} {
				feeds[name] = append(feeds[name], values)
			}
		}
		files["feeds"], files["fixed"] = feeds, fixed
		checkJudged(t, py, filepath.Join(dir, "case.json"), files, want)
	}
}

// randomChange changes lambda and fees, and leaves out some pairs other than the first.
func randomChange(rng *rand.Rand, p *Policy) PriceChange {
	c := PriceChange{Lambda: new(8 * rng.Float64())}
	for _, e := range p.Actions.Experts {
		c.Fees = append(c.Fees, Fee{Expert(e.Name), rng.Float64()})
	}
	for _, v := range p.Actions.Advice[1:] {
		c.Fees = append(c.Fees, Fee{Advice(v.Name), rng.Float64() / 4})
	}
	for i := 1; i < p.Actions.Len(); i++ {
		if rng.IntN(5) == 0 {
			c.Without = append(c.Without, Pair(p.Actions.Name(i)))
		}
	}
	return c
}

func checkJudged(t *testing.T, py, path string, files map[string]any, want []*Decisions) {
	t.Helper()
	b, err := json.Marshal(files)
	if err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Action []int64
		Scores [][]float32
	}
	if err := json.Unmarshal([]byte(judge.Run(t, py, "", judgedAtPrices, path)), &got); err != nil {
		t.Fatal(err)
	}
	for n, w := range want {
		near := slices.EqualFunc(got.Scores[n], w.Scores, func(a, b float32) bool { return a-b < 1e-5 && b-a < 1e-5 })
		if got.Action[n] != w.Action[0] || !near {
			t.Errorf("row %d: Python takes %d with scores %v, Go %d with %v", n, got.Action[n], got.Scores[n], w.Action[0], w.Scores)
		}
	}
}
