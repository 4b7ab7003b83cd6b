package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// worldAt is the world at fees times factors; one of 0 masks the expert.
func (w world) at(factors ...float64) world {
	w.fees = slices.Clone(w.fees)
	for i, f := range factors {
		if w.fees[i] *= f; f == 0 {
			w.fees[i] = math.Inf(1)
		}
	}
	return w
}

// prices are those of the world, of actions with other fees.
func (w world) prices(a *costs.Actions) *policy.Prices {
	p := policy.PricesOf(a, 1)
	copy(p.Experts, w.fees)
	for i, fee := range w.fees {
		if math.IsInf(fee, 1) {
			p.Experts[i], p.Available[i] = a.Experts[i].Fee, false
		}
	}
	return p
}

// priced are prices of a world with n experts: references, between them, single fees, and single pairs masked.
func priced(n int) (names []string, all [][]float64) {
	add := func(name string, factors ...float64) { names, all = append(names, name), append(all, factors) }
	each := func(f float64) []float64 { return slices.Repeat([]float64{f}, n) }
	for _, f := range []float64{1, 0.25, 4, 0.35, 0.5, 0.7, 1.4, 2, 3} {
		add(fmt.Sprintf("all fees x %g", f), each(f)...)
	}
	for i := range n {
		for _, f := range []float64{0.25, 0.5, 2, 4, 0} {
			own := each(1)
			own[i] = f
			add(fmt.Sprintf("e%d x %g", i, f), own...)
		}
	}
	return names, all
}

// unguarded learns a cascade for any price without the guard.
func unguarded(t *testing.T, train *costs.Tensor, r policy.PriceRange, s Settings, o models.Options) *cascade.Policy {
	t.Helper()
	at := anyPricing(train.Actions, r)
	l := newLearner(train, groupsOf(together(train, s.Auto.Apart)), at, s, o)
	one, _, err := l.oneShot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states, _, err := l.states(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return staged(train, at, s, one, states)
}

// Over the range of prices, what is learned costs at most .005 more than the best cascade that there is at the price.
func TestPlantedWorldsAtAnyPrice(t *testing.T) {
	if testing.Short() {
		t.Skip("learns cascades")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	for name, w := range map[string]world{"two stages": twoStages(), "three stages": threeStages()} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, 7))
				train, _ := w.sample(rng, 4000)
				p := unguarded(t, train, policy.DefaultPriceRange(), quick(w.stages), o)
				fresh, levels := w.sample(rng, 20_000)
				names, factors := priced(len(w.fees))
				var at []point
				for _, f := range factors {
					at = append(at, point{prices: w.at(f...).prices(train.Actions)})
				}
				all, err := play(t.Context(), p, fresh, everyRow(fresh), at, o)
				if err != nil {
					t.Fatal(err)
				}
				worst, mean := math.Inf(-1), 0.0
				for n, played := range all {
					own := w.at(factors[n]...)
					got, best := own.expected(played, levels), own.best(fresh, levels)
					t.Logf("seed %d, %s: %.4f, best %.4f, %+.4f", seed, names[n], got, best, got-best)
					worst, mean = max(worst, got-best), mean+(got-best)/float64(len(all))
				}
				t.Logf("seed %d: mean %+.4f, worst %+.4f", seed, mean, worst)
				if worst > 0.005 {
					t.Errorf("seed %d: at some price %.4f above the best cascade", seed, worst)
				}
			}
		})
	}
}
