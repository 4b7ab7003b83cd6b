package policy

import (
	"errors"
	"fmt"
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
	p, err := info.Price(PriceChange{Lambda: &half, Fees: []string{"expert=B:0.25", "advice=c:2e-1"}, Without: []string{"expert=A", "pair=B/a"}})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Prices()
	if !slices.Equal(at.Experts, []float32{0.1, 0.25}) || !slices.Equal(at.Advice, []float32{0, 0.15, 0.1}) {
		t.Errorf("fees %v and %v", at.Experts, at.Advice)
	}
	if want := []bool{false, false, false, false, true, true}; !slices.Equal(at.Available, want) {
		t.Errorf("available %v", at.Available)
	}
	if err := at.check(info.Actions); err != nil {
		t.Error(err)
	}
	if info.Actions.Experts[1].Fee != 0.2 || info.Lambda != 1 {
		t.Error("the metadata of the file changed")
	}
	if p, err = info.Price(PriceChange{Lambda: &half, Pairs: []string{"B/b:0.5", "A/a:0"}}); err != nil || len(p.Unchecked) != 1 {
		t.Fatal(p, err)
	}
	if at = p.Prices(); !slices.Equal(at.Pairs, []float32{0, 0, 0, 0, 0.5, 0}) || at.check(info.Actions) != nil || p.Fees()[4] != 0.2+0.5*0.3+0.5 || p.Fees()[1] != 0.1+0.5*0.3 {
		t.Errorf("%+v, fees %v", at, p.Fees())
	}
	if p, err = info.Price(PriceChange{Pairs: []string{"B/b:0"}}); err != nil || p.Pairs != nil || p.Unchecked != nil {
		t.Errorf("a fee of 0: %+v, %v", p, err)
	}
	if same, err := info.Price(PriceChange{}); err != nil || !same.Prices().equal(Prices{
		Experts: []float32{0.1, 0.2}, Advice: []float32{0, 0.3, 0}, Available: info.Actions.Mask(),
	}) {
		t.Errorf("no change: %v, %v", same, err)
	}
}

func TestPriceChangesRefuse(t *testing.T) {
	negative, huge := -1.0, math.Inf(1)
	for want, c := range map[string]PriceChange{
		"lambda -1":                      {Lambda: &negative},
		"lambda +Inf":                    {Lambda: &huge},
		`unknown expert "C"; known`:      {Fees: []string{"expert=C:1"}},
		`unknown advice "x"; known`:      {Fees: []string{"advice=x:1"}},
		`is neither expert=NAME:FEE`:     {Fees: []string{"pair=A/a:1"}},
		`"expert=A" is neither`:          {Fees: []string{"expert=A"}},
		`"A:1" is neither`:               {Fees: []string{"A:1"}},
		`set twice`:                      {Fees: []string{"expert=A:1", "expert=A:2"}},
		`the absence of advice`:          {Fees: []string{"advice=a:0"}},
		`"-1" is not a number from 0`:    {Fees: []string{"expert=A:-1"}},
		`"NaN" is not a number from 0`:   {Fees: []string{"expert=A:NaN"}},
		`"inf" is not a number from 0`:   {Fees: []string{"expert=A:inf"}},
		`"" is not a number from 0`:      {Fees: []string{"expert=A:"}},
		`"1e300" is not a number from 0`: {Fees: []string{"expert=A:1e300"}},
		`unknown pair "A/x"`:             {Without: []string{"pair=A/x"}},
		`unknown pair "B/x"`:             {Pairs: []string{"B/x:1"}},
		`is not EXPERT/ADVICE:FEE`:       {Pairs: []string{"A/a"}},
		`"A/a:0": its fee is set twice`:  {Pairs: []string{"A/a:1", "A/a:0"}},
		`"-2" is not a number from 0`:    {Pairs: []string{"A/a:-2"}},
		`there twice`:                    {Without: []string{"advice=b", "advice=b"}},
		`no action remains`:              {Without: []string{"expert=A", "expert=B"}},
	} {
		if _, err := changeable().Price(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	fixed, one := changeable(), 1.0
	fixed.Prices = nil
	for _, c := range []PriceChange{{Lambda: &one}, {Fees: []string{"expert=A:1"}}, {Pairs: []string{"A/a:0"}}} {
		if _, err := fixed.Price(c); !errors.Is(err, ErrFixedPrices) {
			t.Errorf("fixed prices, %+v: %v", c, err)
		}
	}
	if p, err := fixed.Price(PriceChange{Without: []string{"expert=A"}}); err != nil || p.Unchecked != nil {
		t.Errorf("fixed prices without an expert: %v, %v", p, err)
	}
}

// Two pairs can have one name, and names can contain what separates the parts of a flag.
func TestPairsAndFeesOfOddNames(t *testing.T) {
	info := changeable()
	info.Actions.Experts[0].Name, info.Actions.Experts[1].Name = "x", "x/y"
	info.Actions.Advice[1].Name, info.Actions.Advice[2].Name = "y/z", "z"
	if _, err := ParseWithout(info.Actions, []string{"pair=x/y/z"}); err == nil || !strings.Contains(err.Error(), "two pairs") {
		t.Errorf("error %v", err)
	}
	info.Actions.Experts[0].Name = "a=b:0.5"
	p, err := info.Price(PriceChange{Fees: []string{"expert=a=b:0.5:7"}})
	if err != nil || p.Actions.Experts[0].Fee != 7 {
		t.Errorf("%v, %v", p, err)
	}
}

// Prices are unchecked exactly if lambda is outside its range, a fee outside its own, more than one price differs, pairs
// have fees of their own, or pairs are left out.
func TestUnchecked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := changeable()
		var c PriceChange
		lambda := rapid.SampledFrom([]float64{0, 1, 8, 8.01, 100}).Draw(t, "lambda")
		c.Lambda = &lambda
		outside, changed := lambda > 8, 0
		for _, fee := range []struct {
			name string
			of   float64
		}{{"expert=A", 0.1}, {"expert=B", 0.2}, {"advice=b", 0.3}, {"advice=c", 0}} {
			factor := rapid.SampledFrom([]float64{1, 1, 1, 0.25, 4, 0.2, 5}).Draw(t, fee.name)
			c.Fees = append(c.Fees, fmt.Sprintf("%s:%g", fee.name, fee.of*factor))
			if factor != 1 && fee.of > 0 {
				changed++
				outside = outside || factor < 0.25 || factor > 4
			}
		}
		if rapid.Bool().Draw(t, "without") {
			c.Without, outside = []string{"pair=A/b"}, true
		}
		if rapid.Bool().Draw(t, "pairs") {
			c.Pairs, outside = []string{"B/c:0.25"}, true
		}
		p, err := info.Price(c)
		if err != nil {
			t.Fatal(err)
		}
		if at := info.PriceAt(p.Actions, lambda); c.Without == nil && c.Pairs == nil && !slices.Equal(at.Unchecked, p.Unchecked) {
			t.Fatalf("unchecked %q by the actions, %q by the change", at.Unchecked, p.Unchecked)
		}
		if got := len(p.Unchecked) > 0; got != (outside || changed > 1 || changed == 1 && lambda != 1) {
			t.Fatalf("unchecked %q after %+v", p.Unchecked, c)
		}
	})
	free := changeable()
	if p, err := free.Price(PriceChange{Fees: []string{"advice=c:0.1"}}); err != nil || len(p.Unchecked) != 1 {
		t.Errorf("a fee that was 0: %v, %v", p, err)
	}
}
