package cascade

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// guaranteed is a file of planted with a guarantee at a threshold, and the file without; nil: every answer is accepted.
func guaranteed(t *testing.T, p *Policy, threshold *float64) (with, without *onnx.Model) {
	t.Helper()
	without, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	with, err = WithGuarantee(without, promise(threshold))
	if err != nil {
		t.Fatal(err)
	}
	return with, without
}

func promise(threshold *float64) policy.Guarantee {
	return policy.Guarantee{
		Risk: 0.1, Confidence: 0.95, Method: "ltt", Bound: 1, Threshold: threshold, Split: "val", Rows: 100,
		At: []policy.GuaranteedPrice{{Lambda: 1.5, Accepted: 0.5, Samples: 50}}, Instead: policy.Instead{Name: "e1/docs"},
	}
}

// A file with a guarantee decides as the one without, and accepts an answer if its expected loss is at most the threshold. All
// runtimes agree.
func TestGuarantee(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	p, rt := planted(rng, 3, 4, 8), orttest.Open(t, 0)
	half := 0.5
	for _, threshold := range []*float64{&half, nil} {
		with, without := guaranteed(t, p, threshold)
		own, err := NewDecider(rt, without)
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		d, err := NewDecider(rt, with)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		rows := randomRows(rng, p, 500)
		want, err := own.Next(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Next(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		if want.Accepted != nil || d.Info().Info[policy.RiskKey] != "" || !slices.Equal(got.Action, want.Action) || !slices.Equal(got.Cost, want.Cost) || d.Info().Guarantee == nil {
			t.Error("the guarantee changes decisions")
		}
		counts := map[bool]int{}
		for n, accepted := range got.Accepted {
			if counts[accepted]++; accepted != (want.Accept[n] && (threshold == nil || want.Loss[n] <= 0.5)) {
				t.Errorf("row %d: accepted %t with accept %t and a loss of %g", n, accepted, want.Accept[n], want.Loss[n])
			}
		}
		if counts[true] < 20 || counts[false] < 20 {
			t.Errorf("%v: the rows test nothing", counts)
		}
		if threshold != nil {
			pythonAccepts(t, with, rows, got.Accepted)
		}
	}
}

const judgedAccepted = `
import json, sys
import numpy as np, onnx, onnxruntime
onnx.checker.check_model(sys.argv[1], full_check=True)
case = json.load(open(sys.argv[2]))
floats = lambda rows: np.array([[np.nan if v is None else v for v in row] for row in rows], np.float32)
s = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(json.dumps(s.run(["accepted"], {"features": floats(case["features"]), "observed": floats(case["observed"]), "executed": np.array(case["executed"], bool)})[0].tolist()))
`

func pythonAccepts(t *testing.T, m *onnx.Model, r Rows, want []bool) {
	t.Helper()
	py := judge.Python(t, "onnx", "onnxruntime")
	dir := t.TempDir()
	for i, v := range r.Observed {
		if !known(v) {
			r.Observed[i] = nan
		}
	}
	text, err := json.Marshal(map[string]any{
		"features": split(r.Features, r.N, number), "observed": split(r.Observed, r.N, number), "executed": split(r.Executed, r.N, func(v bool) any { return v }),
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "rows.json"), text, 0o666)
	}
	if err == nil {
		err = m.WriteFile(filepath.Join(dir, "cascade.onnx"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	if err := json.Unmarshal([]byte(judge.Run(t, py, "", judgedAccepted, filepath.Join(dir, "cascade.onnx"), filepath.Join(dir, "rows.json"))), &got); err != nil || !slices.Equal(got, want) {
		t.Errorf("Python accepts %v, Go %v: %v", got, want, err)
	}
}

// A guarantee that does not fit the file, and a second one, are refused; so is a file whose output contradicts its metadata.
func TestGuaranteeRefuses(t *testing.T) {
	p := planted(rand.New(rand.NewPCG(7, 2)), 3, 4, 8)
	half := 0.5
	with, without := guaranteed(t, p, &half)
	if _, err := WithGuarantee(with, promise(&half)); err == nil || !strings.Contains(err.Error(), "already") {
		t.Error(err)
	}
	for want, change := range map[string]func(*policy.Guarantee){
		`"e2/docs" should take over`: func(g *policy.Guarantee) { g.Instead.Name = "e2/docs" }, // a pair that does not exist
		`"nobody" should take over`:  func(g *policy.Guarantee) { g.Instead.Name = "nobody" },
		"not a float32":              func(g *policy.Guarantee) { third := 1.0 / 3; g.Threshold = &third },
		"a risk of 2":                func(g *policy.Guarantee) { g.Risk = 2 },
	} {
		g := promise(&half)
		change(&g)
		if _, err := WithGuarantee(without, g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	meta := with.Metadata()
	delete(meta, keyPrefix+policy.RiskKey)
	with.SetMetadata(meta)
	if _, err := Parse(with); err == nil {
		t.Error("an output without its guarantee is read")
	}
	with, _ = guaranteed(t, p, &half)
	meta = with.Metadata()
	meta[keyPrefix+policy.RiskKey] = strings.Replace(meta[keyPrefix+policy.RiskKey], `"threshold":0.5`, `"threshold":0.25`, 1)
	with.SetMetadata(meta)
	d, err := NewDecider(orttest.Open(t, 0), with)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Next(t.Context(), randomRows(rand.New(rand.NewPCG(7, 3)), p, 300)); err == nil || !strings.Contains(err.Error(), "damaged file") {
		t.Error("another threshold than that of the graph:", err)
	}
}

// Prices of a file with a guarantee are fixed where the guarantee is about them, and the result keeps it and its format. Others are refused.
func TestFreezeKeepsGuarantee(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	half := 0.5
	with, _ := guaranteed(t, plantedAny(rng, 3, 4, 8), &half)
	promised, other := 1.5, 3.0
	for name, c := range map[string]policy.PriceChange{
		"lambda":   {Lambda: &other},
		"fee":      {Lambda: &promised, Fees: []policy.Fee{{Of: policy.Expert("e1"), Amount: 0.01}}},
		"left out": {Lambda: &promised, Without: []policy.Part{policy.Expert("e0")}},
	} {
		if _, _, err := Freeze(with, c); err == nil || !strings.Contains(err.Error(), "its guarantee is for other prices") {
			t.Errorf("%s: %v", name, err)
		}
	}
	fixed, _, err := Freeze(with, policy.PriceChange{Lambda: &promised})
	if err != nil {
		t.Fatal(err)
	}
	info, err := Parse(fixed)
	if err != nil || info.Prices != nil || info.Guarantee == nil || info.Format != formatGuarantee {
		t.Errorf("%+v, %v", info, err)
	}
}
