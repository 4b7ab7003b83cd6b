package prices

import (
	"math"
	"strings"
	"testing"
)

// What is recorded is read back, with a digest that depends on all of it. Records of earlier programs have no names of models, and
// keep their digests.
func TestRecorded(t *testing.T) {
	table, err := read(t, "p.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	r := Recorded{Table: table, CharsPerToken: 4, PerSecond: 0.5}
	earlier, err := r.Text()
	if err != nil || strings.Contains(earlier, "experts") || r.Digest != "sha256:3b96b453d87a39f496b998278f1c366d3d801773a540d9a40a22f51a8c38148b" {
		t.Error(earlier, err)
	}
	first := r.Digest
	r.Experts = map[string]string{"a": "small"}
	text, err := r.Text()
	if err != nil || r.Digest == first {
		t.Fatal(text, err)
	}
	again, err := ParseRecorded(text)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := again.Text(); err != nil || other != text {
		t.Errorf("%s is read as %s, %v", text, other, err)
	}
	got, ok := again.Rates("a")
	if !ok || got.In != 0.1 || !math.IsNaN(got.Cached) || got.Out != 0.4 || got.Call != 0 || got.PerSecond != 0.5 {
		t.Errorf("%+v, %t", got, ok)
	}
	if _, ok := again.Rates("b"); ok {
		t.Error("b has prices")
	}
	for bad, want := range map[string]string{`[]`: "cannot unmarshal", `{"per_second": -1}`: "per_second", `{"models": {}}`: "models is empty", `{"models": {"a": []}, "currency": "USD"}`: "no prices"} {
		if _, err := ParseRecorded(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, text := range []string{"", "{}"} {
		if r, err := ParseRecorded(text); err != nil || r.Table != nil {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

// Another price file is for the models that are recorded, or else for the experts, in the same currency.
func TestOtherPrices(t *testing.T) {
	r, err := ParseRecorded(`{"currency": "USD", "models": {"big": [{"in": 1}]}, "experts": {"a": "big", "b": "big"}}`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := read(t, "p.yaml", "currency: USD\nmodels: {big: [{in: 2, above: [{tokens: 5, in: 3}]}], b: [{in: 7}], c: [{call: 4}]}")
	if err != nil {
		t.Fatal(err)
	}
	now, err := r.With(other)
	if err != nil {
		t.Fatal(err)
	}
	for expert, want := range map[string]float64{"a": 2, "b": 2} {
		if got, ok := now.Rates(expert); !ok || got.In != want || len(got.Above) != 1 {
			t.Errorf("%s: %+v", expert, got)
		}
	}
	if got, ok := now.Rates("c"); !ok || got.Call != 4 || !math.IsNaN(got.In) {
		t.Errorf("%+v", got)
	}
	delete(other.Models, "big")
	if got, ok := now.Rates("b"); !ok || got.In != 7 {
		t.Errorf("by its own name: %+v", got)
	}
	other.Currency = "EUR"
	if _, err := r.With(other); err == nil || !strings.Contains(err.Error(), "in EUR, but measured fees are in USD") {
		t.Error(err)
	}
}
