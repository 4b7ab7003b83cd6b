package prices

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"
)

var nan = float32(math.NaN())

// used is a tensor with the usage of two experts on two rows, of which the second has no outcome of the second expert, and the third
// expert is a person. Its fees are those of its prices, where a loss of 1 is worth 0.5.
func used(t testing.TB) *costs.Tensor {
	t.Helper()
	out := &costs.Tensor{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}, {Name: "person"}}, Advice: []costs.Advice{{Name: "none"}}},
		IDs:     []string{"p", "q"}, Splits: make([]costs.Split, 2), Dim: 1, Features: []float32{0, 1},
		Loss: []float32{0, 1, 0, 1, nan, 0},
		Fee:  []float32{2 * 0.0046, 2 * 4, 0, 0, nan, 0},
		Usage: costs.Usage{
			costs.TokensIn: {1000, 2e6, nan, 0, nan, nan}, costs.TokensCached: {400, 0, nan, 0, nan, nan}, costs.TokensOut: {500, 0, nan, 0, nan, nan},
			costs.Calls: {1, 2, nan, 0, nan, nan},
		},
		Meta: map[string]string{costs.MoneyKey: `{"currency": "USD", "per_loss": 0.5}`, costs.PricesKey: `{"currency": "USD", "experts": {"a": "tiny"},
			"models": {"tiny": [{"in": 4, "cached": 0.5, "out": 4}], "b": [{"in": 1, "call": 1, "out": 7}]}}`},
	}
	if err := out.ValidatePartial(); err != nil {
		t.Fatal(err)
	}
	return out
}

func sameFees(t testing.TB, got, want []float32) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-6*max(1, math.Abs(float64(want[i])))) && (got[i] == got[i] || want[i] == want[i]) {
			t.Errorf("fees are %v, not %v", got, want)
			return
		}
	}
}

// Other prices change the fees by the usage of every row, and what a fee has beside it stays; the prices of before make the fees of
// before.
func TestAtPrices(t *testing.T) {
	at := used(t)
	at.Fee[1] += 3
	list, err := read(t, "p.yaml", "currency: USD\nmodels: {tiny: [{in: 8, out: 1, cached: 8}, {from: 2026-01-01, in: 2, cached: 1, out: 2}], b: [{in: 3}], c: [{call: 9}]}")
	if err != nil {
		t.Fatal(err)
	}
	got, err := AtPrices(at, list)
	if err != nil {
		t.Fatal(err)
	}
	sameFees(t, got.Fee, []float32{2 * 0.0026, 2*6 + 3, 0, 0, nan, 0})
	if r, err := ParseRecorded(got.Meta[costs.PricesKey]); err != nil || len(r.Models) != 2 || r.Experts["a"] != "tiny" || len(r.Experts) != 1 || r.Digest == "" {
		t.Errorf("%v, %v", got.Meta, err)
	}
	if at.Fee[0] != 2*0.0046 || at.Meta[costs.PricesKey] == got.Meta[costs.PricesKey] {
		t.Error("the tensor that was given has changed")
	}
	before, err := ParseRecorded(at.Meta[costs.PricesKey])
	if err != nil {
		t.Fatal(err)
	}
	got, err = AtPrices(at, before.Table)
	if err != nil {
		t.Fatal(err)
	}
	sameFees(t, got.Fee, at.Fee)
	at.Fee = nil
	got, err = AtPrices(at, before.Table)
	if err != nil {
		t.Fatal(err)
	}
	sameFees(t, got.Fee, used(t).Fee)
}

// The prices of a file and back leave the fees as they were.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		price := rapid.Float64Range(0, 100)
		table := func(name string) *Table {
			p := [6]*float64{}
			for i := range p {
				v := price.Draw(rt, name)
				p[i] = &v
			}
			return &Table{Currency: "USD", Models: map[string][]Period{"a": {{In: p[0], Cached: p[1], Out: p[2]}}, "b": {{In: p[3], Cached: p[3], Out: p[4], Call: p[5]}}}}
		}
		at := used(t)
		delete(at.Meta, costs.PricesKey) // the fees are taken for those of the usage
		first, second := table("first"), table("second")
		one, err := AtPrices(at, first)
		if err != nil {
			rt.Fatal(err)
		}
		two, err := AtPrices(one, second)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := AtPrices(two, first)
		if err != nil {
			rt.Fatal(err)
		}
		sameFees(t, back.Fee, one.Fee)
		if back.Meta[costs.PricesKey] != one.Meta[costs.PricesKey] {
			rt.Fatalf("%v, then %v", one.Meta, back.Meta)
		}
	})
}

// A fee that cannot be known is an error which says of what.
func TestFeesThatCannotBeKnown(t *testing.T) {
	const fit = "currency: USD\nmodels: {tiny: [{in: 2, cached: 1, out: 2}], b: [{in: 3}]}"
	for name, c := range map[string]struct {
		change      func(*costs.Tensor)
		list        string
		row         int
		column, msg string
	}{
		"no price":         {nil, "currency: USD\nmodels: {tiny: [{in: 2, cached: 1, out: 2}]}", 0, "prices", `the expert "b" has none`},
		"a paid person":    {func(t *costs.Tensor) { t.Fee[2] = 1 }, fit, 0, "prices", `the expert "person" has none`},
		"a used person":    {func(t *costs.Tensor) { t.Usage[costs.Calls][5] = 1 }, fit, 0, "prices", `the expert "person" has none`},
		"a priced person":  {nil, strings.Replace(fit, "b:", "person: [{call: 1}], b:", 1), 1, "calls", "of person/none is not known, but has a price"},
		"a gap":            {func(t *costs.Tensor) { t.Usage[costs.TokensOut][3] = nan }, fit, 2, "tokens_out", "of a/none is not known"},
		"no column":        {func(t *costs.Tensor) { t.Usage[costs.TokensOut] = nil }, fit, 1, "tokens_out", "of a/none is not known"},
		"cached gap":       {func(t *costs.Tensor) { t.Usage[costs.TokensCached][3] = nan }, fit, 2, "tokens_cached", "of a/none is not known"},
		"equal cached gap": {func(t *costs.Tensor) { t.Usage[costs.TokensCached][3] = nan }, strings.Replace(fit, "cached: 1", "cached: 2", 1), -1, "", ""},
		"cached":           {nil, strings.Replace(fit, "cached: 1, ", "", 1), 1, "tokens_cached", `of a/none: 400 tokens have no price`},
		"two long calls":   {nil, strings.Replace(fit, "[{in: 3}]", "[{in: 3, above: [{tokens: 1500000, in: 4}]}]", 1), 1, "tokens_in", "of b/none is 2e+06 in 2 calls"},
		"another currency": {nil, strings.Replace(fit, "USD", "EUR", 1), 0, "", "in EUR, but measured fees are in USD"},
		"money": {func(t *costs.Tensor) {
			t.Meta[costs.MoneyKey] = `{"currency": "EUR", "per_loss": 1}`
		}, fit, 0, "", "the prices are in USD, but measured fees are in EUR"},
		"no money":   {func(t *costs.Tensor) { delete(t.Meta, costs.MoneyKey) }, fit, 0, "", "does not say what a loss of 1 is worth"},
		"no usage":   {func(t *costs.Tensor) { t.Usage = costs.Usage{} }, fit, 0, "tokens_in", "as is all usage"},
		"damaged":    {func(t *costs.Tensor) { t.Meta[costs.PricesKey] = "{" }, fit, 0, costs.PricesKey, "JSON"},
		"less":       {func(t *costs.Tensor) { t.Fee[1] = 7 }, fit, 1, "fee", "of b/none is 7, less than the 8 of the usage"},
		"too much":   {nil, strings.Replace(fit, "in: 3", "call: 1e12, in: 0", 1), -1, "", ""},
		"a long one": {nil, strings.Replace(fit, "[{in: 3}]", "[{in: 3, above: [{tokens: 2500000, in: 4}]}]", 1), -1, "", ""},
	} {
		list, err := read(t, "p.yaml", c.list)
		if err != nil {
			t.Fatal(name, err)
		}
		at := used(t)
		if c.change != nil {
			c.change(at)
		}
		_, err = AtPrices(at, list)
		if c.row < 0 {
			if err != nil {
				t.Error(name, err)
			}
			continue
		}
		t.Run(name, func(t *testing.T) { dataerrortest.Check(t, err, "", c.row, c.column, c.msg) })
	}
}
