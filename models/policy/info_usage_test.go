package policy

import (
	"strings"
	"testing"

	"pipe/costs"
)

// Prices of usage by names change those of the policy. Cached tokens that are not known cost as others of the prompt.
func TestUsagePricesByName(t *testing.T) {
	info := &Info{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}}, Prices: &PriceRange{},
		Usage: &UsageInfo{Quantities: []costs.Quantity{costs.TokensIn, costs.TokensCached}},
	}
	info.Usage.Prices[costs.TokensIn], info.Usage.Known[costs.TokensIn] = []float64{4, 8}, []bool{true, true}
	info.Usage.Prices[costs.TokensCached], info.Usage.Known[costs.TokensCached] = []float64{1, 8}, []bool{true, false}
	change := func(expert, quantity string, price float64) PriceChange {
		return PriceChange{UsageOf: []UsagePrice{{expert, quantity, price}}}
	}
	for _, c := range []struct {
		change PriceChange
		want   UsagePrices
		err    string
	}{
		{change("a", "tokens_in", 5), UsagePrices{{5, 8}, {1, 8}}, ""},
		{change("b", "tokens_in", 5), UsagePrices{{4, 5}, {1, 5}}, ""},
		{change("a", "tokens_cached", 0), UsagePrices{{4, 8}, {0, 8}}, ""},
		{change("b", "tokens_cached", 1), UsagePrices{{4, 8}, {1, 8}}, ""},
		{change("c", "tokens_in", 5), UsagePrices{}, `unknown expert "c"`},
		{change("a", "calls", 5), UsagePrices{}, `a price of "calls", which the policy does not know; it knows [tokens_in tokens_cached]`},
		{change("a", "tokens_in", -1), UsagePrices{}, "not from 0 to"},
	} {
		got, err := info.Price(c.change)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v", c.change.UsageOf, err)
			}
			continue
		}
		if err != nil || !got.Usage.Equal(&c.want) || info.Usage.Prices[costs.TokensIn][1] != 8 {
			t.Errorf("%v: %v, %v", c.change.UsageOf, got, err)
		}
	}
	info.Usage = nil
	if _, err := info.Price(change("a", "tokens_in", 5)); err == nil || !strings.Contains(err.Error(), "knows nothing of what calls use") {
		t.Error(err)
	}
}
