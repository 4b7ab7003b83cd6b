package auto

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
)

// metered is a table with a known distribution whose calls use tokens: how many depends on the features, with heavy tails.
// The loss of "large" is low everywhere, and "person" uses nothing.
func metered(n int, split costs.Split, seed uint64) *costs.Tensor {
	t := &costs.Tensor{Dim: 6, Actions: &costs.Actions{
		Experts:  []costs.Expert{{Name: "small"}, {Name: "large"}, {Name: "person", Fee: 0.5}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "passages", Fee: 0.01}},
		Features: costs.FeatureSource{Name: "planted", Dim: 6},
	}}
	r := rand.New(rand.NewPCG(seed, uint64(split)))
	nan := float32(math.NaN())
	for range n {
		x := make([]float32, t.Dim)
		for c := range x {
			x[c] = float32(2*r.Float64() - 1)
		}
		t.IDs, t.Splits = append(t.IDs, split.String()+string(rune('a'+len(t.IDs)%26))+strings.Repeat("x", len(t.IDs)/26)), append(t.Splits, split)
		t.Features = append(t.Features, x...)
		hard := 0.35 + 0.3*float64(x[0])
		for _, m := range []float64{hard, hard * 0.7, 0.12, 0.1, 0.05, 0.05} {
			t.Loss = append(t.Loss, map[bool]float32{true: 1}[r.Float64() < m])
		}
		tail := func() float64 { return math.Exp(0.7*r.NormFloat64() - 0.245) } // mean 1
		prompt, answer := 200+100*float64(x[1]), 300+250*float64(x[2])
		t.Usage[costs.TokensIn] = append(t.Usage[costs.TokensIn],
			float32(prompt), float32(prompt+800), float32(prompt), float32(prompt+800), nan, nan)
		t.Usage[costs.TokensOut] = append(t.Usage[costs.TokensOut],
			float32(answer*tail()), float32(answer*tail()), float32(answer*tail()), float32(answer*tail()), nan, nan)
	}
	return t
}

// usagePrices are prices of a million tokens by expert, in the unit of the loss.
func usagePrices(smallIn, smallOut, largeIn, largeOut float64) policy.UsagePrices {
	var p policy.UsagePrices
	p[costs.TokensIn], p[costs.TokensOut] = []float64{smallIn, largeIn, 0}, []float64{smallOut, largeOut, 0}
	return p
}

// feesAt makes measured fees of the usage of a table.
func feesAt(t *costs.Tensor, at policy.UsagePrices) *costs.Tensor {
	out, pairs := *t, t.Actions.Len()
	out.Fee = make([]float32, len(t.Loss))
	for i := range out.Fee {
		j, _ := t.Actions.Pair(i % pairs)
		for q, prices := range at {
			if prices != nil && prices[j] > 0 {
				out.Fee[i] += float32(prices[j] / 1e6 * float64(t.Usage[q][i]))
			}
		}
	}
	return &out
}

// meanCost is that of decisions on a table with measured fees.
func meanCost(t *costs.Tensor, actions []int64) float64 {
	sum := 0.0
	var c []float64
	for n, a := range actions {
		c = t.Costs(c, n, 1)
		sum += c[a]
	}
	return sum / float64(len(actions))
}

// TestUsageIsPricedWhenDecided: one policy for all prices of tokens costs as much as one that is trained for the new prices,
// and predicts the bill of rows that it did not see.
func TestUsageIsPricedWhenDecided(t *testing.T) {
	if testing.Short() {
		t.Skip("trains several policies")
	}
	rt := orttest.Open(t, 0)
	o := models.Options{Runtime: rt}
	old := usagePrices(50, 150, 150, 450)
	train, test := metered(4000, costs.Train, 1), metered(10_000, costs.Test, 2)
	s := DefaultSettings()
	s.Networks, s.Neighbours = nil, nil // the others are enough for this table
	fixedPrices := s
	s.Usage = &old
	p, report, err := TrainAnyPrice(t.Context(), feesAt(train, old), policy.DefaultPriceRange(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Guard.Fallback || p.Estimate.Usage == nil {
		t.Fatalf("guard %+v", report.Guard)
	}
	d := decider(t, p)
	for name, at := range map[string]policy.UsagePrices{
		"old": old, "halved": old.Times(0.5, -1), "doubled": old.Times(2, -1), "large doubled": old.Times(2, 1), "swapped": usagePrices(150, 450, 50, 150),
	} {
		prices, err := d.Info().Price(policy.PriceChange{Usage: &at})
		if err != nil {
			t.Fatal(err)
		}
		if checked := len(prices.Unchecked) == 0; checked != (name != "swapped") {
			t.Errorf("%s: not checked for %q", name, prices.Unchecked)
		}
		out, err := d.DecideAt(context.Background(), prices, test.Features, test.Len())
		if err != nil {
			t.Fatal(err)
		}
		there := feesAt(test, at)
		own := meanCost(there, out.Action)
		policies, _, err := Train(t.Context(), feesAt(train, at), []float64{1}, fixedPrices, o)
		if err != nil {
			t.Fatal(err)
		}
		other, err := decider(t, policies[0]).Decide(context.Background(), test.Features, test.Len())
		if err != nil {
			t.Fatal(err)
		}
		trained := meanCost(there, other.Action)
		billed, expected := 0.0, 0.0
		for n, a := range out.Action {
			i := n*6 + int(a)
			billed += float64(there.Fee[i])
			expected += float64(out.Cost[i]-out.Loss[i]) - test.Actions.Fees(1)[a]
		}
		t.Logf("%s: %.4f, trained for it %.4f; bill %.1f, expected %.1f (%+.1f%%)", name, own, trained, billed, expected, 100*(expected/billed-1))
		if own > trained+0.003 {
			t.Errorf("%s: a cost of %.4f, a policy that was trained for these prices has %.4f", name, own, trained)
		}
		if math.Abs(expected/billed-1) > 0.03 {
			t.Errorf("%s: a bill of %.1f was expected, it is %.1f", name, expected, billed)
		}
	}
}

// TestUsageInTheFile: the graph says what the policy in Go says, at prices that are inputs and at fixed ones; what is not known
// has no price.
func TestUsageInTheFile(t *testing.T) {
	rt := orttest.Open(t, 0)
	old, s := usagePrices(50, 150, 150, 450), smallAuto()
	s.Usage, s.Networks, s.Neighbours = &old, nil, nil
	train := metered(400, costs.Train, 3)
	train.Usage[costs.TokensOut][2] = float32(math.NaN()) // that row cannot judge
	train.Fee = feesAt(train, old).Fee
	train.Fee[2] = 0.01
	p, _, err := TrainAnyPrice(t.Context(), train, policy.DefaultPriceRange(), s, models.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if f := d.Info().Format; f != 3 {
		t.Errorf("format %d", f)
	}
	half := old.Times(0.5, 1)
	change := policy.PriceChange{Usage: &half}
	at, err := d.Info().Price(change)
	if err != nil {
		t.Fatal(err)
	}
	any, err := d.DecideAt(t.Context(), at, train.Features, train.Len())
	if err != nil {
		t.Fatal(err)
	}
	frozen, _, err := policy.Freeze(m, change)
	if err != nil {
		t.Fatal(err)
	}
	f, err := policy.NewDecider(rt, frozen)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fixed, err := f.Decide(t.Context(), train.Features, train.Len())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(any.Scores, fixed.Scores) || !f.Info().Usage.Prices.Equal(&half) {
		t.Error("a file with these prices has other scores")
	}
	in := *p
	e := *p.Estimate
	u := *e.Usage
	u.Prices, e.Usage, in.Estimate = half, &u, &e
	scores := make([]float64, 6)
	for n := range train.Len() {
		in.At(1).Scores(scores, train.Row(n))
		for i, v := range scores {
			if got := float64(any.Scores[n*6+i]); math.Abs(got-v) > 1e-4*max(1, math.Abs(v)) {
				t.Fatalf("row %d, pair %d: the graph says %g, Go %g", n, i, got, v)
			}
		}
		for _, q := range []costs.Quantity{costs.TokensIn, costs.TokensOut} {
			own := any.Usage[q][n*6 : (n+1)*6]
			if own[4] == own[4] || !(own[0] >= 0) {
				t.Fatalf("row %d: usage %v", n, own)
			}
		}
	}
	person := usagePrices(50, 150, 150, 450)
	person[costs.TokensOut][2] = 1
	if _, err := d.Info().Price(policy.PriceChange{Usage: &person}); err == nil || !strings.Contains(err.Error(), "does not know how much it uses") {
		t.Errorf("a price of what is not known: %v", err)
	}
	person = old
	person[costs.Calls] = []float64{1, 0, 0}
	if _, err := d.Info().Price(policy.PriceChange{Usage: &person}); err == nil || !strings.Contains(err.Error(), "calls") {
		t.Errorf("a price of calls: %v", err)
	}
}

// TestEstimatesOfCachedTokens: they are at most those of the prompts, where these are known.
func TestEstimatesOfCachedTokens(t *testing.T) {
	u := &usage{
		quantities: []costs.Quantity{costs.TokensIn, costs.TokensCached, costs.TokensOut}, actions: &costs.Actions{Experts: make([]costs.Expert, 2), Advice: make([]costs.Advice, 1)},
		data: &regress.Data{Pairs: 6}, mean: []float64{10, math.NaN(), 5, 5, 1, 1}, held: []float32{10, 0, 12, 7, 99, 99, 10, 0, 8, 7, 99, 99},
	}
	u.limit()
	if want := []float32{10, 0, 10, 7, 99, 99, 10, 0, 8, 7, 99, 99}; !slices.Equal(u.held, want) {
		t.Errorf("%v, not %v", u.held, want)
	}
	u.quantities = u.quantities[:1] // without cached tokens there is nothing to limit
	u.limit()
}
