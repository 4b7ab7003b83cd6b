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
	"pipe/models/estimate"
	"pipe/models/network"
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
		p.States = append(p.States, afterLarge(p))
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

// afterLarge is the state after large without advice, whose answer looks good if its label is yes, and better the surer it is.
func afterLarge(p *cascade.Policy) cascade.State {
	const pair, pairs = 2, 4
	facts := len(p.Facts)
	seen := cascade.Encoding{
		Dim: p.Dim, Numbers: []cascade.Number{{Column: pair * facts, Low: 0, High: 1, Fill: 0.5}}, Values: []cascade.Value{{Column: pair*facts + 1, Index: 1}},
	}
	by := network.Affine{In: seen.Width(), Out: pairs, W: make([]float32, pairs*seen.Width()), B: []float32{0.3, 0.6, 0.9, 0.9}}
	by.W[pair*by.In+p.Dim], by.W[pair*by.In+p.Dim+1] = -0.4, -0.4
	return cascade.State{Executed: []int{pair}, Encoding: seen, Policy: &policy.Policy{
		Actions: cascade.PairActions(p.Actions, p.Lambda, []int{pair}, nil, by.In), Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderEstimate, Dim: by.In,
		Estimate: &policy.Estimate{Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: by}}}}, Constant: []float64{0.3, 0.6, 0.9, 0.9}},
	}}
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
