package findings

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/internal/judge"
)

// judgedSavings computes the savings of decisions from the columns of a table, and their intervals from resamples that it draws itself.
const judgedSavings = `
import json, sys
import numpy as np
out = []
for c in json.load(open(sys.argv[1])):
    loss, fee = np.array(c["loss"]), np.array(c["fee"])
    paid = fee + np.array(c["expert"])[None, :] + np.array(c["advice"])[None, :]
    cost = loss + fee + np.array(c["expert"])[None, :] + c["lambda"] * np.array(c["advice"])[None, :]
    train, val = np.array(c["train"]), np.array(c["val"])
    refs = [c["today"], int(cost[train].mean(0).argmin()), int(loss[train].mean(0).argmin())]
    of = lambda table, a: table[val, a]
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(val), (4000, len(val)))
    lines = []
    for r in dict.fromkeys(refs):
        line = {"pair": r}
        for name, table in [("cost", cost), ("loss", loss), ("money", c["per_loss"] * paid)]:
            d = of(table, r) - of(table, np.array(c["action"]))
            means = d[drawn].mean(1)
            line[name] = [d.mean(), *np.quantile(means, [0.025, 0.975])]
            if name == "cost":
                base = of(table, r)
                ratios = means / base[drawn].mean(1)
                line["share"] = [d.mean() / base.mean(), *np.quantile(ratios, [0.025, 0.975])]
        lines.append(line)
    out.append(lines)
json.dump(out, sys.stdout)
`

type judgedCase struct {
	Loss    [][]float64 `json:"loss"`
	Fee     [][]float64 `json:"fee"`
	Expert  []float64   `json:"expert"`
	Advice  []float64   `json:"advice"`
	Lambda  float64     `json:"lambda"`
	Train   []int       `json:"train"`
	Val     []int       `json:"val"`
	Today   int         `json:"today"`
	Action  []int       `json:"action"`
	PerLoss float64     `json:"per_loss"`
}

// numpy finds the same constants, means, and intervals up to the noise of resampling.
func TestSavingsInPython(t *testing.T) {
	py := judge.Python(t, "numpy")
	var cases []judgedCase
	for seed := range uint64(6) {
		cases = append(cases, judgedTable(seed))
	}
	path := filepath.Join(t.TempDir(), "cases.json")
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var all [][]struct {
		Pair                     int
		Cost, Loss, Money, Share []float64
	}
	if err := json.Unmarshal([]byte(judge.Run(t, py, "", judgedSavings, path)), &all); err != nil {
		t.Fatal(err)
	}
	for i, lines := range all {
		e, p, lambda := judgedEvidence(uint64(i))
		got, err := e.savings(p.Action, lambda, e.references(lambda))
		if err != nil || len(got) != len(lines) {
			t.Fatalf("case %d: %d savings, in Python %d (%v)", i, len(got), len(lines), err)
		}
		for k, s := range got {
			if s.Pair != e.Tensor.Actions.Name(lines[k].Pair) {
				t.Errorf("case %d: %s, in Python %s", i, s.Pair, e.Tensor.Actions.Name(lines[k].Pair))
			}
			for name, v := range map[string][2][]float64{
				"cost":  {{s.Cost.Mean, s.Cost.Low, s.Cost.High}, lines[k].Cost},
				"loss":  {{s.Loss.Mean, s.Loss.Low, s.Loss.High}, lines[k].Loss},
				"money": {{s.Money.Mean, s.Money.Low, s.Money.High}, lines[k].Money},
				"share": {{s.Share.Mean, s.Share.Low, s.Share.High}, lines[k].Share},
			} {
				width := v[1][2] - v[1][1]
				if math.Abs(v[0][0]-v[1][0]) > 1e-6 || math.Abs(v[0][1]-v[1][1]) > width/12 || math.Abs(v[0][2]-v[1][2]) > width/12 {
					t.Errorf("case %d, %s of %s: %v, in Python %v", i, name, s.Pair, v[0], v[1])
				}
			}
		}
	}
}

// judgedEvidence is a table with measured fees, and decisions that are right more often than not.
func judgedEvidence(seed uint64) (*Evidence, *Policy, float64) {
	x := two(400, 0.3, seed)
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range x.Loss {
		x.Loss[i] += float32(r.Float64() / 4)
		x.Fee = append(x.Fee, float32(r.Float64()/10))
	}
	e := evidenceOf(x)
	e.Today, e.Resamples, e.Money = int(seed%4), 4000, &costs.Money{Currency: "USD", PerLoss: 3}
	p := perfect(e)
	for k := range p.Action {
		if r.Float64() < 0.3 {
			p.Action[k] = r.IntN(4)
		}
	}
	return e, p, 0.5 + float64(seed)/2
}

// judgedTable is the same as columns of numbers.
func judgedTable(seed uint64) judgedCase {
	e, p, lambda := judgedEvidence(seed)
	c := judgedCase{Lambda: lambda, Train: e.Train, Val: e.Rows, Today: e.Today, Action: p.Action, PerLoss: e.Money.PerLoss}
	a := e.Tensor.Actions
	for i := range a.Len() {
		j, k := a.Pair(i)
		c.Expert, c.Advice = append(c.Expert, a.Experts[j].Fee), append(c.Advice, a.Advice[k].Fee)
	}
	for row := range slices.Chunk(e.Tensor.Loss, a.Len()) {
		c.Loss = append(c.Loss, wide(row))
	}
	for row := range slices.Chunk(e.Tensor.Fee, a.Len()) {
		c.Fee = append(c.Fee, wide(row))
	}
	return c
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}
