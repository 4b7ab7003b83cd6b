package costs

import (
	"strings"
	"testing"
)

// TestPricesWithoutEffect: prices that change nothing are said, and only those.
func TestPricesWithoutEffect(t *testing.T) {
	table := func(expert, advice float64, measured bool) *Tensor {
		x := &Tensor{Actions: &Actions{
			Experts: []Expert{{Name: "a"}, {Name: "b", Fee: expert}}, Advice: []Advice{{Name: "none"}, {Name: "docs", Fee: advice}},
		}}
		if measured {
			x.Fee = []float32{0, 0, 0, 0.1}
		}
		return x
	}
	unavailable := table(0.1, 0.1, false)
	unavailable.Actions.Unavailable = []Pair{{Expert: 0, Advice: 1}, {Expert: 1, Advice: 1}}
	alone := table(0, 0, false)
	alone.Actions.Advice = alone.Actions.Advice[:1]
	one, several := []float64{1}, []float64{0.1, 1, 10}
	for name, c := range map[string]struct {
		t       *Tensor
		lambdas []float64
		any     bool
		want    string // part of the note; empty: no note
	}{
		"several":                       {table(0.1, 0, false), several, false, "no advice has one; so 0.1, 1 and 10 are one price."},
		"two":                           {table(0.1, 0, false), []float64{0, 4}, false, "so 0 and 4 are one price."},
		"one":                           {table(0, 0, false), []float64{2}, false, "no advice has one."},
		"no advice":                     {alone, several, false, "there is no advice"},
		"advice that cannot be bought":  {unavailable, several, false, "lambda has no effect"},
		"measured":                      {table(0, 0, true), several, false, "measured fees are part of the losses"},
		"any price, free":               {table(0, 0, false), one, true, "no expert and no advice has a fee."},
		"any price, measured":           {table(0, 0, true), one, true, "a fee; measured fees"},
		"any price, fees of experts":    {table(0.1, 0, false), one, true, "this table lambda has no effect"},
		"lambda 1":                      {table(0, 0, true), one, false, ""},
		"fees of advice":                {table(0, 0.1, true), several, false, ""},
		"any price, fees of advice":     {table(0, 0.1, true), one, true, ""},
		"any price, fees of both kinds": {table(0.1, 0.1, false), one, true, ""},
	} {
		got := c.t.IdlePrices(c.lambdas, c.any)
		if (len(got) > 0) != (c.want != "") || !strings.Contains(strings.Join(got, " "), c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
