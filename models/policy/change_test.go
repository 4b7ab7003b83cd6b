package policy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs/coststest"
)

// changeable is the metadata of an any-price policy with experts A and B and advice a (none), b and c.
func changeable() *Info {
	r := DefaultPriceRange()
	return &Info{Actions: coststest.Actions([]float64{0.1, 0.2}, []float64{0, 0.3, 0}), Lambda: 1, Decoder: DecoderEstimate, Prices: &r}
}

func TestPriceChanges(t *testing.T) {
	info, half := changeable(), 0.5
	p, err := info.Price(PriceChange{Lambda: &half, Fees: []Fee{{Of: Expert("B"), Amount: 0.25}, {Of: Advice("c"), Amount: 2e-1}}, Without: []Part{Expert("A"), Pair("B/a")}})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Tensors()
	if experts, advice := at[ExpertFeesInput].Float32s(), at[AdviceFeesInput].Float32s(); !slices.Equal(experts, []float32{0.1, 0.25}) || !slices.Equal(advice, []float32{0, 0.15, 0.1}) {
		t.Errorf("fees %v and %v", experts, advice)
	}
	if want := []bool{false, false, false, false, true, true}; !slices.Equal(p.Available, want) || !slices.Equal(at[AvailableInput].Bools(), want) {
		t.Errorf("available %v", p.Available)
	}
	if err := info.CheckPrices(p); err != nil {
		t.Error(err)
	}
	if info.Actions.Experts[1].Fee != 0.2 || info.Lambda != 1 {
		t.Error("the metadata of the file changed")
	}
	if p, err = info.Price(PriceChange{Lambda: &half, Fees: []Fee{{Of: Pair("B/b"), Amount: 0.5}, {Of: Pair("A/a"), Amount: 0}}}); err != nil || len(p.Unchecked) != 1 {
		t.Fatal(p, err)
	}
	if pairs := p.Tensors()[PairFeesInput].Float32s(); !slices.Equal(pairs, []float32{0, 0, 0, 0, 0.5, 0}) || info.CheckPrices(p) != nil || p.Fees()[4] != 0.2+0.5*0.3+0.5 || p.Fees()[1] != 0.1+0.5*0.3 {
		t.Errorf("%+v, fees %v", p, p.Fees())
	}
	if p, err = info.Price(PriceChange{Fees: []Fee{{Of: Pair("B/b"), Amount: 0}}}); err != nil || p.Pairs != nil || p.Unchecked != nil {
		t.Errorf("a fee of 0: %+v, %v", p, err)
	}
	if same, err := info.Price(PriceChange{}); err != nil || !same.Equal(&Prices{
		Lambda: 1, Experts: []float64{0.1, 0.2}, Advice: []float64{0, 0.3, 0}, Available: info.Actions.Mask(),
	}) {
		t.Errorf("no change: %v, %v", same, err)
	}
}

// A surcharge is added to the fees of pairs, also to those that the change sets. Of 0 for every pair it changes nothing.
func TestSurcharge(t *testing.T) {
	info := changeable()
	fee := []Fee{{Of: Pair("A/b"), Amount: 0.5}}
	p, err := info.Price(PriceChange{Fees: fee, Surcharge: []float64{0, 0.25, 0, 1, 0, 0}})
	if err != nil || !slices.Equal(p.Pairs, []float64{0, 0.75, 0, 1, 0, 0}) || info.CheckPrices(p) != nil {
		t.Error(p, err)
	}
	own, err := info.Price(PriceChange{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = info.Price(PriceChange{Surcharge: make([]float64, 6)}); err != nil || !p.Equal(own) {
		t.Error(p, err)
	}
	for want, amounts := range map[string][]float64{
		"2 surcharges, the policy has 6 pairs": {1, 2}, "surcharge -1 of A/a": {-1, 0, 0, 0, 0, 0}, "surcharge NaN of B/c": {0, 0, 0, 0, 0, math.NaN()},
		"added to its fee 0.5": {0, MaxFee, 0, 0, 0, 0},
	} {
		if _, err := info.Price(PriceChange{Fees: fee, Surcharge: amounts}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", amounts, err)
		}
	}
	fixed := *info
	fixed.Prices = nil
	if _, err := fixed.Price(PriceChange{Surcharge: make([]float64, 6)}); !errors.Is(err, ErrFixedPrices) {
		t.Error(err)
	}
}

func TestPriceChangesRefuse(t *testing.T) {
	negative, huge := -1.0, math.Inf(1)
	fee := func(of Part, amounts ...float64) (c PriceChange) {
		for _, v := range amounts {
			c.Fees = append(c.Fees, Fee{of, v})
		}
		return c
	}
	for want, c := range map[string]PriceChange{
		"lambda -1":                          {Lambda: &negative},
		"lambda +Inf":                        {Lambda: &huge},
		`unknown expert "C"; known`:          fee(Expert("C"), 1),
		`unknown advice "x"; known`:          fee(Advice("x"), 1),
		`"=" is neither expert`:              fee(Part{}, 1),
		`"expert=A:2": its fee is set twice`: fee(Expert("A"), 1, 2),
		`the absence of advice`:              fee(Advice("a"), 0),
		`"-1" is not a number from 0`:        fee(Expert("A"), -1),
		`"NaN" is not a number from 0`:       fee(Expert("A"), math.NaN()),
		`"+Inf" is not a number from 0`:      fee(Expert("A"), huge),
		`"1e+300" is not a number from 0`:    fee(Expert("A"), 1e300),
		`unknown pair "A/x"`:                 {Without: []Part{Pair("A/x")}},
		`unknown pair "B/x"`:                 fee(Pair("B/x"), 1),
		`"pair=A/a:0": its fee is set twice`: fee(Pair("A/a"), 1, 0),
		`"-2" is not a number from 0`:        fee(Pair("A/a"), -2),
		`there twice`:                        {Without: []Part{Advice("b"), Advice("b")}},
		`no action remains`:                  {Without: []Part{Expert("A"), Expert("B")}},
	} {
		if _, err := changeable().Price(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	fixed, one := changeable(), 1.0
	fixed.Prices = nil
	for _, c := range []PriceChange{{Lambda: &one}, {Fees: []Fee{{Expert("A"), 1}}}, {Fees: []Fee{{Pair("A/a"), 0}}}} {
		if _, err := fixed.Price(c); !errors.Is(err, ErrFixedPrices) {
			t.Errorf("fixed prices, %+v: %v", c, err)
		}
	}
	if p, err := fixed.Price(PriceChange{Without: []Part{Expert("A")}}); err != nil || p.Unchecked != nil {
		t.Errorf("fixed prices without an expert: %v, %v", p, err)
	}
}

// Two pairs can have one name, and names can contain what separates the parts of a flag.
func TestPairsAndFeesOfOddNames(t *testing.T) {
	info := changeable()
	info.Actions.Experts[0].Name, info.Actions.Experts[1].Name = "x", "x/y"
	info.Actions.Advice[1].Name, info.Actions.Advice[2].Name = "y/z", "z"
	if _, err := Without(info.Actions, []Part{Pair("x/y/z")}); err == nil || !strings.Contains(err.Error(), "two pairs") {
		t.Errorf("error %v", err)
	}
	info.Actions.Experts[0].Name = "a=b:0.5"
	odd, err := ParseFee("expert=a=b:0.5:7")
	if err != nil {
		t.Fatal(err)
	}
	p, err := info.Price(PriceChange{Fees: []Fee{odd}})
	if err != nil || p.Experts[0] != 7 {
		t.Errorf("%v, %v", p, err)
	}
}

// Prices are unchecked exactly if lambda is outside its range, a fee outside its own, more than one price differs, pairs
// have extra fees, or pairs are left out.
func TestUnchecked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := changeable()
		var c PriceChange
		lambda := rapid.SampledFrom([]float64{0, 1, 8, 8.01, 100}).Draw(t, "lambda")
		c.Lambda = &lambda
		outside, changed := lambda > 8, 0
		for _, fee := range []struct {
			part Part
			of   float64
		}{{Expert("A"), 0.1}, {Expert("B"), 0.2}, {Advice("b"), 0.3}, {Advice("c"), 0}} {
			factor := rapid.SampledFrom([]float64{1, 1, 1, 0.25, 4, 0.2, 5}).Draw(t, fee.part.String())
			c.Fees = append(c.Fees, Fee{fee.part, fee.of * factor})
			if factor != 1 && fee.of > 0 {
				changed++
				outside = outside || factor < 0.25 || factor > 4
			}
		}
		if rapid.Bool().Draw(t, "without") {
			c.Without, outside = []Part{Pair("A/b")}, true
		}
		if rapid.Bool().Draw(t, "pairs") {
			c.Fees, outside = append(c.Fees, Fee{Pair("B/c"), 0.25}), true
		}
		p, err := info.Price(c)
		if err != nil {
			t.Fatal(err)
		}
		if at := info.PriceAt(p.In(info.Actions), lambda, nil); c.Without == nil && p.Pairs == nil && !slices.Equal(at.Unchecked, p.Unchecked) {
			t.Fatalf("unchecked %q by the actions, %q by the change", at.Unchecked, p.Unchecked)
		}
		if got := len(p.Unchecked) > 0; got != (outside || changed > 1 || changed == 1 && lambda != 1) {
			t.Fatalf("unchecked %q after %+v", p.Unchecked, c)
		}
	})
	free := changeable()
	if p, err := free.Price(PriceChange{Fees: []Fee{{Of: Advice("c"), Amount: 0.1}}}); err != nil || len(p.Unchecked) != 1 {
		t.Errorf("a fee that was 0: %v, %v", p, err)
	}
}
