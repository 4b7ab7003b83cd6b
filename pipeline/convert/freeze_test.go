package convert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/cascade/cascadetest"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// frozenAt are prices at which tests fix those of decidetest.AnyPrice.
func frozenAt() policy.PriceChange {
	return policy.PriceChange{Lambda: new(3.0), Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 0.02}, {Of: policy.Advice("long"), Amount: 0.05}}, Without: []policy.Part{policy.Pair("c/short")}}
}

// A file whose prices were fixed decides on every row with the scores of the any-price file at these prices, and loads
// wherever a policy does.
func TestConvertFixesPrices(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	anyPrice, fixed := decidetest.WritePolicy(t, decidetest.AnyPrice(3)), filepath.Join(dir, "fixed.onnx")
	o := DefaultOptions()
	o.Model, o.Out, o.Prices = anyPrice, storage.File(fixed), frozenAt()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(r.Inputs) != "[features float32 [batch 3]]" || r.Kind != "policy" || r.Policy != anyPrice || r.Prices.Lambda != 3 || r.Prices.Experts["c"] != 0.02 {
		t.Errorf("report %+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "long (fee 0.05 before lambda)") || !strings.Contains(text.String(), "left out         pair=c/short") {
		t.Errorf("text %v\n%s", err, text.String())
	}
	rows := filepath.Join(dir, "rows.csv")
	lines := "x,y,z\n"
	for i := range 300 {
		lines += fmt.Sprintf("%d,%d,%d\n", i%7-3, i%5-2, i%11-5)
	}
	if err := os.WriteFile(rows, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	s := decide.DefaultStreamOptions()
	s.In, s.Policy, s.Prices = storage.File(rows), storage.File(anyPrice), frozenAt()
	want := decided(t, rt, s)
	s.Policy, s.Prices = storage.File(fixed), policy.PriceChange{}
	if got := decided(t, rt, s); got != want || strings.Count(got, "\n") != 301 {
		t.Errorf("the fixed file decides %.300s\nthe any-price file %.300s", got, want)
	}
	e, err := inspect.File(t.Context(), storage.File(fixed), inspect.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if p := e.(*inspect.PolicyExplanation); p.Lambda != 3 || p.Fees["c/none"] != 0.02 || p.Prices != nil || string(p.Info["without"]) != `["pair=c/short"]` || fmt.Sprint(p.LeftOut) != "[c/short]" || p.Verdict != "this policy chooses among 7 pairs by the features" {
		t.Errorf("explanation %+v", p)
	}
	if e, err = inspect.File(t.Context(), storage.File(anyPrice), inspect.DefaultOptions()); err != nil || e.(*inspect.PolicyExplanation).Prices.Lambda[1] != 8 {
		t.Errorf("explanation %+v, %v", e, err)
	}
}

// A cascade whose prices were fixed decides as the any-price cascade does at these prices, without its other inputs.
func TestConvertFixesPricesOfACascade(t *testing.T) {
	rt, dir, tensor := orttest.Open(t, 1), t.TempDir(), coststest.Looks(300, 8)
	anyPrice, fixed := storage.File(filepath.Join(dir, "any.onnx")), storage.File(filepath.Join(dir, "fixed.onnx"))
	m, err := cascadetest.AnyPrice(tensor).Export()
	if err == nil {
		err = m.WriteFile(anyPrice.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Model, o.Out = anyPrice.String(), fixed
	o.Prices = policy.PriceChange{Lambda: new(3.0), Fees: []policy.Fee{{Of: policy.Expert("large"), Amount: 0.1}}, Without: []policy.Part{policy.Pair("large/search")}}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind != "cascade" || r.Prices.Lambda != 3 || len(r.Inputs) != 3 {
		t.Errorf("report %+v", r)
	}
	var played [2]*cascade.Played
	for i, file := range []storage.Location{anyPrice, fixed} {
		f, err := decide.ReadCascade(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		at := f.Info.Base()
		if i == 0 {
			if at, err = f.Price(o.Prices, storage.Location{}); err != nil {
				t.Fatal(err)
			}
		} else if f.Info.Prices != nil || f.Info.Lambda != 3 || f.Info.Actions.Experts[1].Fee != 0.1 || f.Info.Info[policy.FrozenKey] == "" || f.Info.Format != 1 {
			t.Errorf("%+v", f.Info)
		}
		d, err := f.Open(rt)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if played[i], err = cascade.Play(t.Context(), d, tensor, tensor.Rows(costs.Val), at); err != nil {
			t.Fatal(err)
		}
	}
	if stage.JSON(played[0]) != stage.JSON(played[1]) || len(played[0].Order[0]) == 0 {
		t.Error("the fixed file plays otherwise than the any-price file at these prices")
	}
	about, err := decide.ReadDescription(t.Context(), decide.DescriptionFile(fixed))
	if err != nil || about.Kind != "cascade" || about.FrozenFrom == "" || fmt.Sprint(about.Without) != "[pair=large/search]" || about.Prices != nil {
		t.Errorf("%v: %+v", err, about)
	}
	e, err := inspect.File(t.Context(), fixed, inspect.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if c := e.(*inspect.CascadeExplanation); c.Lambda != 3 || c.Prices != nil || fmt.Sprint(c.LeftOut) != "[large/search]" || c.Fees["large/none"] != 0.1 {
		t.Errorf("%+v", c)
	}
	if e, err = inspect.File(t.Context(), anyPrice, inspect.DefaultOptions()); err != nil || e.(*inspect.CascadeExplanation).Prices.Lambda[1] != 8 {
		t.Errorf("explanation %+v, %v", e, err)
	}
	for want, o := range map[string]Options{
		"pipe train --any-price":       {Model: fixed.String(), Prices: o.Prices},
		"which has no settings of enc": {Model: anyPrice.String(), MaxLength: 3},
		"no policy can follow it":      {Model: anyPrice.String(), Merge: fixed},
		"knows nothing of what calls":  {Model: anyPrice.String(), PriceFile: anyPrice},
		"is a cascade, not an encoder": {Model: fixed.String()},
	} {
		o.Out = storage.File(filepath.Join(dir, "out.onnx"))
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// An encoder precedes fixed prices only: those that the options set.
func TestMergeOfAnAnyPricePolicy(t *testing.T) {
	rt, dir, model := orttest.Open(t, 1), t.TempDir(), hftest.Folder(t)
	p := decidetest.AnyPrice(hftest.Hidden)
	p.Actions.Features = costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}
	anyPrice, merged := decidetest.WritePolicy(t, p), filepath.Join(dir, "merged.onnx")
	o := Options{Model: model, Merge: storage.File(anyPrice), Out: storage.File(merged)}
	var option *stage.OptionError
	if _, err := Run(t.Context(), o); !errors.As(err, &option) || !strings.Contains(err.Error(), "its prices are inputs") {
		t.Errorf("error %v", err)
	}
	o.Prices = frozenAt()
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "claims.jsonl")
	if err := os.WriteFile(in, []byte("{\"claim\": \"a b\"}\n{\"claim\": \"how high is it?\"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := decide.DefaultStreamOptions()
	s.Policy, s.Encoder, s.Text, s.In, s.Prices = storage.File(anyPrice), model, "claim", storage.File(in), frozenAt()
	want := decided(t, rt, s)
	s.Policy, s.Encoder, s.Prices = storage.File(merged), "", policy.PriceChange{}
	if got := decided(t, rt, s); got != want {
		t.Errorf("merged %s\nits parts %s", got, want)
	}
}

func TestConvertRefusesPrices(t *testing.T) {
	dir := t.TempDir()
	anyPrice, fixed, model := decidetest.WritePolicy(t, decidetest.AnyPrice(3)), decidetest.WritePolicy(t, decidetest.Policy(3, 4)), hftest.Folder(t)
	for want, o := range map[string]Options{
		"pipe train --any-price":       {Model: fixed, Prices: frozenAt()},
		"is a policy, not an encoder":  {Model: fixed},
		"unknown expert":               {Model: anyPrice, Prices: policy.PriceChange{Fees: []policy.Fee{{Of: policy.Expert("d"), Amount: 1}}}},
		"which has no settings of enc": {Model: anyPrice, MaxLength: 3, Prices: frozenAt()},
		"no policy can follow it":      {Model: anyPrice, Merge: storage.File(fixed)},
		"not a policy":                 {Model: filepath.Join(dir, "encoder.onnx"), Prices: frozenAt()},
	} {
		if want == "not a policy" {
			if _, err := Run(t.Context(), Options{Model: model, Out: storage.File(o.Model)}); err != nil {
				t.Fatal(err)
			}
		}
		o.Out = storage.File(filepath.Join(dir, "out.onnx"))
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if _, err := os.Stat(o.Out.String()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: an output file", want)
		}
	}
}
