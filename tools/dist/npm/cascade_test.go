package npm

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
)

// stepCase is a state of a cascade, and what Go does next.
type stepCase struct {
	Policy  string         `json:"policy"`
	Request map[string]any `json:"request"`

	pair      string
	accept    bool
	loss      float64 // NaN: none
	cost      float64
	accepted  *bool
	unchecked []string
}

// checkSteps: the steps of cascades are those of Go, in all states, at drawn prices and with pairs left out.
func checkSteps(t *testing.T, rt *ort.Runtime, folder string) {
	all := stepCases(t, rt)
	list := filepath.Join(folder, "steps.json")
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	save(t, list, string(b))
	var got []struct {
		pair
		Accept   bool
		Accepted *bool
		Instead  string
		Prices   struct{ Unchecked []string }
	}
	if err := json.Unmarshal(node(t, folder, "steps.mjs", list), &got); err != nil || len(got) != len(all) {
		t.Fatal(len(got), err)
	}
	accepts := 0
	for n, c := range all {
		g := got[n]
		if c.accept {
			accepts++
		}
		loss := math.NaN()
		if g.Loss != nil {
			loss = *g.Loss
		}
		if g.Pair != c.pair || g.Accept != c.accept || loss != c.loss && !(loss != loss && c.loss != c.loss) || *g.Cost != c.cost {
			t.Errorf("%v: %+v (loss %g), not %+v", c.Request, g, loss, c)
		}
		if (g.Accepted == nil) != (c.accepted == nil) || g.Accepted != nil && (*g.Accepted != *c.accepted || (g.Instead == policy.Abstain) == *g.Accepted) {
			t.Errorf("%v: accepted %v, not %v; instead %q", c.Request, g.Accepted, c.accepted, g.Instead)
		}
		if fmt.Sprint(inWords(g.Prices.Unchecked)) != fmt.Sprint(inWords(c.unchecked)) {
			t.Errorf("%v: unchecked are %q, not %q", c.Request, g.Prices.Unchecked, c.unchecked)
		}
	}
	if accepts < len(all)/5 || accepts > len(all)*4/5 {
		t.Errorf("%d of %d steps accept: they tell little", accepts, len(all))
	}
}

func stepCases(t *testing.T, rt *ort.Runtime) (all []stepCase) {
	table := coststest.Looks(40, 1)
	for name, p := range map[string]*cascade.Policy{"fixed": cascadetest.Looks(table, 1), "any": cascadetest.AnyPrice(table)} {
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		guarded, err := cascadetest.Guarded(m, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		for kind, m := range map[string]*onnx.Model{"": m, " guarded": guarded} {
			path := filepath.Join(t.TempDir(), name+kind+".onnx")
			if _, err := decide.WritePolicy(t.Context(), storage.File(path), m); err != nil {
				t.Fatal(err)
			}
			d, err := cascade.NewDecider(rt, m)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(4, 4))
			for range 60 {
				all = append(all, drawnStep(t, d, path, r))
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// drawnStep draws a state and prices.
func drawnStep(t *testing.T, d *cascade.Decider, path string, r *rand.Rand) stepCase {
	t.Helper()
	info := d.Info()
	var c policy.PriceChange
	if info.Prices != nil && r.IntN(2) == 0 {
		lambda := 4 * r.Float64()
		c.Lambda, c.Fees = &lambda, []policy.Fee{{Of: policy.Expert("large"), Amount: float64(r.IntN(60)) / 100}}
	}
	if r.IntN(3) == 0 {
		c.Without = [][]policy.Part{{policy.Expert("large")}, {policy.Pair("small/none")}, {policy.Advice("search"), policy.Pair("large/none")}}[r.IntN(3)]
	}
	at, err := info.Price(c)
	if err != nil {
		t.Fatal(err)
	}
	pairs, facts := info.Actions.Names(), len(info.Facts)
	rows := cascade.Rows{N: 1, Features: []float32{float32(r.NormFloat64()), float32(r.NormFloat64())}, Observed: make([]float32, len(pairs)*facts), Executed: make([]bool, len(pairs))}
	for i := range rows.Observed {
		rows.Observed[i] = float32(math.NaN())
	}
	executed := map[string]any{}
	for i, name := range pairs {
		if r.IntN(3) > 0 {
			continue
		}
		rows.Executed[i] = true
		sure, label := r.Float32(), r.IntN(3)
		seen := map[string]any{"label": []string{"no", "yes", "never seen"}[label]}
		if rows.Observed[i*facts] = sure; label < 2 {
			rows.Observed[i*facts+1] = float32(label)
		}
		if seen["confidence"] = sure; r.IntN(4) == 0 {
			seen["confidence"], rows.Observed[i*facts] = nil, float32(math.NaN())
		}
		executed[name] = seen
	}
	out, err := d.NextAt(t.Context(), []*policy.Prices{at}, rows)
	if err != nil {
		t.Fatal(err)
	}
	request := requested(c)
	delete(request, "top")
	request["features"], request["executed"] = rows.Features, executed
	step := stepCase{
		Policy: path, Request: request, pair: pairs[out.Action[0]], accept: out.Accept[0], loss: float64(out.Loss[0]), cost: float64(out.Remaining[0]), unchecked: at.Unchecked,
	}
	if out.Accepted != nil && step.accept {
		step.accepted = &out.Accepted[0]
	}
	return step
}
