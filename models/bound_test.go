package models

import (
	"math"
	"testing"

	"pipe/models/network"

	"pgregory.net/rapid"
)

var boundTaus = []float64{0, 0.3, 0.7, 0.999, 1, 1.0001, 1.3, 1.9, 2, 2.5, 3}

func TestGammaKnownValues(t *testing.T) {
	for _, c := range []struct {
		tau     float64
		actions int
		u, want float64
	}{
		{0, 4, 0.02, 0.2},                      // sqrt(2u)
		{0.5, 4, 1, math.Sqrt(3 / math.Sqrt2)}, // sqrt(sqrt2 * 1.5)
		{1, 4, 0.5, 1},                         // sqrt(2u), whatever the number of actions
		{1, 400, 0.5, 1},
		{1.5, 4, 0.25, 1}, // sqrt(2 * 2 * 0.25)
		{2, 4, 0.25, 1},   // linear from here
		{3, 2, 0.5, 4},
		{1, 4, -1e-18, 0},
	} {
		if got := gammaOf(c.tau, c.actions, c.u); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("gamma(%v, %d, %v) = %v, want %v", c.tau, c.actions, c.u, got, c.want)
		}
	}
	if got := transfer(1, 4, 0, 3); got != 0 {
		t.Errorf("transfer with no weight = %v, want 0", got)
	}
	if got := transfer(1, 4, 2, 0.25); math.Abs(got-1) > 1e-12 { // 2 * sqrt(2 * 0.125)
		t.Errorf("transfer = %v, want 1", got)
	}
}

func TestCompSumLossIsContinuousAroundOne(t *testing.T) {
	for _, logp := range []float64{-1e-9, -0.1, -3, -40} {
		at := compSumLoss(1, logp)
		for _, tau := range []float64{1 - 1e-9, 1 + 1e-9} {
			if got := compSumLoss(tau, logp); math.Abs(got-at) > 1e-6*(1+at) {
				t.Errorf("Phi_%v(%v) = %v, Phi_1 = %v", tau, logp, got, at)
			}
		}
	}
	if got := compSumLoss(2, math.Log(0.3)); math.Abs(got-0.7) > 1e-12 {
		t.Errorf("Phi_2 = %v, want 1 - p = 0.7", got)
	}
	if got := compSumLoss(0, math.Log(0.25)); math.Abs(got-3) > 1e-12 {
		t.Errorf("Phi_0 = %v, want 1/p - 1 = 3", got)
	}
}

func drawWeights(t *rapid.T) []float64 {
	w := rapid.SliceOfN(rapid.Float64Range(0, 2), 1, 8).Draw(t, "w")
	w[rapid.IntRange(0, len(w)-1).Draw(t, "zero")] = 0 // the largest cost always has weight 0
	return w
}

func TestOptimalProbabilitiesAreNotBeaten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWeights(t)
		tau := rapid.SampledFrom(boundTaus).Draw(t, "tau")
		logp := make([]float64, len(w))
		best := optimalProbabilities(logp, tau, w)
		other := rapid.SliceOfN(rapid.Float64Range(-12, 12), len(w), len(w)).Draw(t, "s")
		network.LogSoftmax(other)
		if risk := conditionalRisk(tau, w, other); risk < best-1e-9*(1+best) {
			t.Fatalf("tau %v: risk %v of %v is below the stated optimum %v of %v", tau, risk, other, best, logp)
		}
		var sum float64
		for _, l := range logp {
			sum += math.Exp(l)
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities sum to %v", sum)
		}
	})
}

// Descent on the scores is an independent way to find the same minimum.
func TestOptimalProbabilitiesEqualDescent(t *testing.T) {
	w := []float64{0.7, 0, 0.25, 0.24, 0.6}
	for _, tau := range []float64{0, 0.5, 1, 1.5, 1.8} {
		logp := make([]float64, len(w))
		want := optimalProbabilities(logp, tau, w)
		got := descend(tau, w, 20000)
		if got < want-1e-12 || got > want+2e-3 {
			t.Errorf("tau %v: descent ends at %v, closed form %v", tau, got, want)
		}
	}
}

func descend(tau float64, w []float64, steps int) float64 {
	s, logp := make([]float64, len(w)), make([]float64, len(w))
	for range steps {
		copy(logp, s)
		network.LogSoftmax(logp)
		var total float64 // sum_i w_i p_i^(tau-1): dPhi/dlogp_i = -p_i^(tau-1)
		for i := range w {
			total += w[i] * math.Exp((tau-1)*logp[i])
		}
		for i := range w {
			s[i] += 0.2 * (w[i]*math.Exp((tau-1)*logp[i]) - math.Exp(logp[i])*total)
		}
	}
	copy(logp, s)
	network.LogSoftmax(logp)
	return conditionalRisk(tau, w, logp)
}

func TestBoundHoldsForEveryLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, n := rapid.IntRange(1, 6).Draw(t, "actions"), rapid.IntRange(1, 4).Draw(t, "n")
		p := BoundProblem{
			Kind: BoundConditional, Tau: rapid.SampledFrom(boundTaus).Draw(t, "tau"), Actions: a,
			Costs:  rapid.SliceOfN(rapid.Float64Range(0, 1.5), n*a, n*a).Draw(t, "costs"),
			Scores: rapid.SliceOfN(rapid.Float64Range(-6, 6), n*a, n*a).Draw(t, "scores"),
		}
		p.Largest = make([]float64, n)
		for i := range p.Largest {
			p.Largest[i] = 1.5 + rapid.Float64Range(0, 0.5).Draw(t, "slack")
		}
		r, err := ConsistencyBound(p)
		if err != nil {
			t.Fatal(err)
		}
		if r.TrueExcess > r.Bound+1e-9 {
			t.Fatalf("excess true loss %v exceeds its bound %v: %+v", r.TrueExcess, r.Bound, r)
		}
	})
}

func TestBoundVanishesAtTheOptimum(t *testing.T) {
	costs := []float64{0.38, 1.08, 0.50, 0.51, math.Inf(1), 0.55, 0.18, 0.30, 0.90, math.NaN()}
	scores := make([]float64, len(costs))
	for at := 0; at < 2; at++ {
		row, worst := costs[at*5:][:4], 0.0
		for _, c := range row {
			worst = math.Max(worst, c)
		}
		w := make([]float64, 4)
		for i, c := range row {
			w[i] = worst - c
		}
		optimalProbabilities(scores[at*5:][:4], 1, w)
		for i := range 4 {
			scores[at*5+i] = math.Max(scores[at*5+i], -700)
		}
	}
	r, err := ConsistencyBound(BoundProblem{Kind: BoundConditional, Tau: 1, Costs: costs, Scores: scores, Actions: 5})
	if err != nil {
		t.Fatal(err)
	}
	if r.Excess > 1e-12 || r.Bound > 1e-5 || r.TrueExcess != 0 || math.Abs(r.TrueLoss-0.28) > 1e-12 || r.Actions != 4 {
		t.Fatalf("report at the optimum: %+v", r)
	}
}

// Two equally likely tables at one x: the conditional bound is tighter than the per-instance bound, and both hold.
func TestPerInstanceBoundIsLooser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const a = 3
		tables := rapid.SliceOfN(rapid.Float64Range(0, 1), 2*a, 2*a).Draw(t, "costs")
		scores := rapid.SliceOfN(rapid.Float64Range(-5, 5), a, a).Draw(t, "scores")
		tau := rapid.SampledFrom(boundTaus).Draw(t, "tau")
		mean, largest := make([]float64, a), 0.0
		for outcome := range 2 {
			most := 0.0
			for i := range a {
				mean[i] += tables[outcome*a+i] / 2
				most = math.Max(most, tables[outcome*a+i])
			}
			largest += most / 2
		}
		law, err := ConsistencyBound(BoundProblem{Kind: BoundConditional, Tau: tau, Costs: mean, Largest: []float64{largest}, Scores: scores, Actions: a})
		if err != nil {
			t.Fatal(err)
		}
		single, err := ConsistencyBound(BoundProblem{Kind: BoundPerInstance, Tau: tau, Costs: tables, Scores: append(scores, scores...), Actions: a})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(single.SurrogateRisk-law.SurrogateRisk) > 1e-9*(1+law.SurrogateRisk) || math.Abs(single.WeightNorm-law.WeightNorm) > 1e-12 {
			t.Fatalf("the risks are of different laws: %+v, %+v", single, law)
		}
		if single.Excess < law.Excess-1e-9 || single.Bound < law.Bound-1e-6 || law.TrueExcess > law.Bound+1e-9 {
			t.Fatalf("per instance %+v, conditional %+v", single, law)
		}
	})
}

// 12 actions whose weights sum to 3 on average, 0.01 above the best surrogate risk.
func TestTransferKnownValues(t *testing.T) {
	for tau, want := range map[float64]float64{0: 0.245, 1: 0.245, 2: 0.120} {
		if got := transfer(tau, 12, 3, 0.01); math.Abs(got-want) > 5e-4 {
			t.Errorf("tau %v: the excess true loss is at most %v, want %v", tau, got, want)
		}
	}
}

func TestConsistencyBoundRefusesBadShapes(t *testing.T) {
	for name, p := range map[string]BoundProblem{
		"no actions":  {Tau: 1},
		"ragged":      {Tau: 1, Actions: 2, Costs: make([]float64, 3), Scores: make([]float64, 3)},
		"scores":      {Tau: 1, Actions: 2, Costs: make([]float64, 2), Scores: make([]float64, 4)},
		"maxima":      {Tau: 1, Actions: 2, Costs: make([]float64, 2), Scores: make([]float64, 2), Largest: []float64{1, 1}},
		"tau":         {Tau: -1, Actions: 2, Costs: make([]float64, 2), Scores: make([]float64, 2)},
		"low maximum": {Tau: 1, Actions: 2, Costs: []float64{1, 2}, Scores: make([]float64, 2), Largest: []float64{1}},
		"empty row":   {Tau: 1, Actions: 1, Costs: []float64{math.NaN()}, Scores: make([]float64, 1)},
	} {
		if _, err := ConsistencyBound(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestExpectedMaximumEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "p")
		fee := rapid.SliceOfN(rapid.Float64Range(0, 1.2), n, n).Draw(t, "fee")
		var want float64
		for outcome := range 1 << n {
			prob, largest := 1.0, 0.0
			for i := range n {
				if outcome>>i&1 == 1 {
					prob *= p[i]
					largest = math.Max(largest, fee[i]+1)
				} else {
					prob *= 1 - p[i]
					largest = math.Max(largest, fee[i])
				}
			}
			want += prob * largest
		}
		if got := ExpectedMaximum(p, fee); math.Abs(got-want) > 1e-9 {
			t.Fatalf("expected maximum %v, enumeration %v", got, want)
		}
	})
}
