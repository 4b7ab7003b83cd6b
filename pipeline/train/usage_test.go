package train

import (
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/pipeline/stage"
)

// notes keeps what is noted.
type notes struct {
	stage.Progress
	all []string
}

func (n *notes) Note(format string, args ...any) { n.all = append(n.all, format) }

// metered has two experts and four training rows: a costs 2 and b 3 for a million tokens, at a loss worth 1 USD. It is not known
// how many tokens of b were cached.
func metered() *costs.Tensor {
	nan := float32(math.NaN())
	t := &costs.Tensor{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}},
		IDs:     []string{"1", "2", "3", "4"}, Splits: make([]costs.Split, 4), Dim: 1, Features: make([]float32, 4), Loss: make([]float32, 8),
		Meta: map[string]string{
			costs.MoneyKey:  `{"currency":"USD","per_loss":1}`,
			costs.PricesKey: `{"currency":"USD","models":{"a":[{"in":2,"cached":1}],"b":[{"in":3}]}}`,
		},
	}
	for range 4 {
		t.Usage[costs.TokensIn] = append(t.Usage[costs.TokensIn], 1e6, 2e6)
		t.Usage[costs.TokensCached] = append(t.Usage[costs.TokensCached], 5e5, nan)
		t.Fee = append(t.Fee, 1.5, 6)
	}
	return t
}

// Usage is priced separately only if the measured fees follow from it. Otherwise they stay part of the losses, and a note says why.
func TestUsagePricesFallBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*costs.Tensor)
		priced bool
		note   string
	}{
		"as recorded":         {func(*costs.Tensor) {}, true, ""},
		"no prices":           {func(x *costs.Tensor) { delete(x.Meta, costs.PricesKey) }, false, "records no prices"},
		"no money":            {func(x *costs.Tensor) { delete(x.Meta, costs.MoneyKey) }, false, "not what a loss of 1 is worth"},
		"other money":         {func(x *costs.Tensor) { x.Fee[3] = 7 }, false, "are not those of their usage"},
		"one row unknown":     {func(x *costs.Tensor) { x.Usage[costs.TokensIn][2] = float32(math.NaN()) }, true, "only these judge"},
		"most rows unknown":   {func(x *costs.Tensor) { unknownFrom(x, 1) }, false, "what all pairs used is known on"},
		"no usage":            {func(x *costs.Tensor) { x.Usage = costs.Usage{} }, false, ""},
		"no row is known":     {func(x *costs.Tensor) { unknownFrom(x, 0) }, false, "%v"},
		"dated prices":        {func(x *costs.Tensor) { x.Meta[costs.PricesKey] = dated }, false, "are not those of their usage"},
		"cached, no price":    {func(x *costs.Tensor) { x.Meta[costs.PricesKey] = uncached }, false, "%v"},
		"nothing was cached":  {kept0, true, ""},
		"a model has no list": {func(x *costs.Tensor) { x.Meta[costs.PricesKey] = onlyA }, false, "%v"},
	} {
		x, n := metered(), &notes{Progress: stage.OrQuiet(nil)}
		c.change(x)
		u, err := usagePrices(x, n)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(n.all, "; "); (u != nil) != c.priced || (c.note == "") != (got == "") || !strings.Contains(got, c.note) {
			t.Errorf("%s: prices %v, note %q", name, u, got)
		}
		if u != nil && (u[costs.TokensCached][0] != map[bool]float64{true: 2, false: 1}[name == "nothing was cached"] || u[costs.TokensCached][1] != 3) {
			t.Errorf("%s: cached tokens %v", name, u[costs.TokensCached])
		}
	}
}

const (
	dated    = `{"currency":"USD","models":{"a":[{"in":2,"cached":1},{"from":"2026-01-01","in":4,"cached":2}],"b":[{"in":3}]}}`
	uncached = `{"currency":"USD","models":{"a":[{"in":2}],"b":[{"in":3}]}}`

	onlyA = `{"currency":"USD","models":{"a":[{"in":2,"cached":1}]}}`
)

// kept0 makes that no token of a was cached, and has no price for such tokens.
func kept0(t *costs.Tensor) {
	t.Meta[costs.PricesKey] = uncached
	for i := 0; i < len(t.Fee); i += 2 {
		t.Usage[costs.TokensCached][i], t.Fee[i] = 0, 2
	}
}

// unknownFrom makes the usage of rows unknown.
func unknownFrom(t *costs.Tensor, row int) {
	for q := range t.Usage {
		for i := 2 * row; i < len(t.Usage[q]); i++ {
			t.Usage[q][i] = float32(math.NaN())
		}
	}
}
