package train

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/eval"
	"pipe/pipeline/stage"
)

// Columns in any order give the same decisions as in the order of training; a policy from a table of pipe import
// records its feature names.
func TestColumnsAreFeaturesByName(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	tensor := world.SyntheticTensor(60, costs.Train, 1, true)
	tensor.Meta = map[string]string{costs.NamesKey: `["first","second"]`}
	o := DefaultOptions()
	o.Tensor, o.Out, o.Recipe, o.Methods, o.Seeds, o.Network.Epochs = storage.File(filepath.Join(dir, "costs.parquet")), storage.File(dir), "paper", nil, 1, 2
	if err := costs.Write(t.Context(), o.Tensor, tensor); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ours-lambda1-seed0.onnx")
	_, info, err := policy.Read(path)
	if err != nil || fmt.Sprint(info.Names) != "[first second]" {
		t.Fatalf("%v: names %v", err, info.Names)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var straight, turned strings.Builder
	straight.WriteString("id,first,second\n")
	turned.WriteString("second,id,first\n")
	for n := range 200 {
		u, v := r.NormFloat64(), r.NormFloat64()
		fmt.Fprintf(&straight, "%d,%g,%g\n", n, u, v)
		fmt.Fprintf(&turned, "%g,%d,%g\n", v, n, u)
	}
	run := func(in string) (string, error) {
		d := decide.DefaultStreamOptions()
		d.Policy, d.Scores, d.InFormat = storage.File(path), true, "csv"
		var out bytes.Buffer
		_, err := decide.Stream(t.Context(), rt, d, strings.NewReader(in), &out, stage.Quiet)
		return out.String(), err
	}
	want, err := run(straight.String())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(turned.String()); err != nil || got != want {
		t.Errorf("%v: another order of columns gives other decisions", err)
	}
	var bad *costs.DataError
	if _, err := run(strings.Replace(straight.String(), "second", "third", 1)); !errors.As(err, &bad) || bad.Column != "third" {
		t.Errorf("another name: %v", err)
	}
}

// TestPricesWithoutEffectAreSaid: train and eval say where lambda or the range of an any-price policy changes nothing, in
// the text and in the JSON, and say nothing where it does.
func TestPricesWithoutEffectAreSaid(t *testing.T) {
	rt := orttest.Open(t, 1)
	for name, c := range map[string]struct {
		expert, advice float64
		any            bool
		want           string
	}{
		"lambdas":          {0.1, 0, false, "lambda has no effect: it multiplies the fees of advice, and no advice has one; so 0.1, 1 and 10 are one price"},
		"any price":        {0, 0, true, "no expert and no advice has a fee"},
		"fees of advice":   {0, 0.1, false, ""},
		"fees and a range": {0.1, 0.1, true, ""},
	} {
		tensor := world.SyntheticTensor(60, costs.Train, 1, true)
		for i := range tensor.Actions.Experts {
			tensor.Actions.Experts[i].Fee = c.expert
		}
		for i := range tensor.Actions.Advice[1:] {
			tensor.Actions.Advice[i+1].Fee = c.advice
		}
		o := DefaultOptions()
		o.Out, o.Methods, o.Auto.Networks, o.AnyPrice, o.Split = storage.File(t.TempDir()), nil, nil, c.any, "train"
		if !c.any {
			o.Lambdas = []float64{0.1, 1, 10}
		}
		r, err := RunOn(t.Context(), rt, tensor, o, t.TempDir(), stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		var text, file strings.Builder
		if err := errors.Join(r.WriteText(&text), r.WriteJSON(&file)); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{text.String(), file.String()} {
			if said := strings.Contains(got, "no effect"); said != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", name, got)
			}
		}
		e := eval.DefaultOptions()
		e.Lambdas, e.Split, e.KNN, e.Findings = []float64{0.1, 1, 10}, "train", false, false
		report, err := eval.Decisions(t.Context(), rt, tensor, nil, e, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(fmt.Sprint(report.Notes), "lambda has no effect"); said != (c.advice == 0) {
			t.Errorf("%s: eval notes %q", name, report.Notes)
		}
	}
}

// TestSettingsWithoutEffectAreSaid: a range of prices without any_price, and a half-life of rows of one age.
func TestSettingsWithoutEffectAreSaid(t *testing.T) {
	tensor := world.SyntheticTensor(60, costs.Train, 1, true)
	tensor.Times = make([]int64, tensor.Len())
	c := DefaultSettings()
	c.HalfLife = 1e9
	c.Prices.Fee[1] = 9
	if got := strings.Join(c.idle(tensor, nil), " "); !strings.Contains(got, "prices has no effect without") || !strings.Contains(got, "half_life has no effect: all") {
		t.Errorf("%q", got)
	}
	c.AnyPrice, tensor.Times[3] = true, 1
	if got := c.idle(tensor, nil); len(got) > 0 {
		t.Errorf("settings with an effect: %q", got)
	}
}
