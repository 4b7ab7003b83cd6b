package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// gammaOf is the transfer function of the comp-sum loss with parameter tau over
// a set of actions (Mao, Mohri, Zhong 2023; the paper's Theorem on the
// augmented surrogate):
//
//	sqrt(2^tau (2-tau) u)          0 <= tau < 1
//	sqrt(2 actions^(tau-1) u)      1 <= tau < 2
//	(tau-1) actions^(tau-1) u      tau >= 2
//
// u >= 0 is an excess surrogate risk per unit of weight; a negative u, which
// rounding can produce at the optimum, counts as 0. tau must not be negative
// and actions must be positive: anything else is a programmer error.
func gammaOf(tau float64, actions int, u float64) float64 {
	if !(tau >= 0) || actions < 1 {
		panic(fmt.Sprintf("models: gammaOf with tau %v over %d actions", tau, actions))
	}
	u = math.Max(u, 0)
	n := float64(actions)
	switch {
	case tau < 1:
		return math.Sqrt(math.Pow(2, tau) * (2 - tau) * u)
	case tau < 2:
		return math.Sqrt(2 * math.Pow(n, tau-1) * u)
	default:
		return (tau - 1) * math.Pow(n, tau-1) * u
	}
}

// transfer bounds the excess true loss by the excess surrogate risk u of the
// augmented surrogate: W * gammaOf(u / W), where W is the mean over instances of
// the summed conditional weights. W = 0 means that every action costs the same
// everywhere, and the bound is 0.
func transfer(tau float64, actions int, W, u float64) float64 {
	if W == 0 {
		return 0
	}
	return W * gammaOf(tau, actions, u/W)
}

// compSumLoss is Phi_tau as a function of the log-probability of an action (logp <= 0): -logp at tau = 1, else
// (exp((tau-1) logp) - 1) / (1 - tau), computed with expm1 so that it is continuous in tau around 1.
func compSumLoss(tau, logp float64) float64 {
	if tau == 1 {
		return -logp
	}
	return math.Expm1((tau-1)*logp) / (1 - tau)
}

// conditionalRisk is the comp-sum conditional risk sum_i w_i Phi_tau(p_i) of
// one instance. w and logp have one entry per action; an action without weight
// contributes nothing, whatever its probability.
func conditionalRisk(tau float64, w, logp []float64) float64 {
	var risk float64
	for i, wi := range w {
		if wi != 0 {
			risk += wi * compSumLoss(tau, logp[i])
		}
	}
	return risk
}

// optimalProbabilities stores in logp the log of the probabilities that minimise conditionalRisk over the simplex for
// weights w >= 0, and returns the minimum. The minimiser follows from the Lagrangian:
//
//	tau < 2    p_i proportional to w_i^(1/(2-tau)), so p proportional to w at tau = 1
//	tau >= 2   the risk is concave (linear at 2), so a vertex: the largest weight
//
// If all weights are 0, every point is optimal and the uniform one is stored. Otherwise actions without weight get
// -Inf.
func optimalProbabilities(logp []float64, tau float64, w []float64) float64 {
	top := 0
	for i := range w {
		if w[i] > w[top] {
			top = i
		}
	}
	switch {
	case w[top] == 0:
		for i := range logp {
			logp[i] = -math.Log(float64(len(w)))
		}
	case tau >= 2:
		for i := range logp {
			logp[i] = math.Inf(-1)
		}
		logp[top] = 0
	default:
		powerProbabilities(logp, w, w[top], 1/(2-tau))
	}
	return conditionalRisk(tau, w, logp)
}

// powerProbabilities stores log(w_i^power / sum w^power), scaled by the
// largest weight first because the power grows without bound towards tau = 2.
func powerProbabilities(logp, w []float64, largest, power float64) {
	var sum float64
	for i, wi := range w {
		logp[i] = power * math.Log(wi/largest)
		sum += math.Exp(logp[i])
	}
	for i := range logp {
		logp[i] -= math.Log(sum)
	}
}

// ExpectedMaximum is E[max_i (fee_i + B_i)] for independent B_i that are 1 with
// probability p_i and 0 otherwise: the expected largest cost of an instance whose
// task losses are 0 or 1 and independent. p and fee have an entry per action. The
// sum over the jumps of the distribution function of the maximum is exact.
func ExpectedMaximum(p, fee []float64) float64 {
	type jump struct {
		at  float64
		of  int
		cdf float64 // P(cost <= at) from here on
	}
	jumps := make([]jump, 0, 2*len(p))
	for i := range p {
		jumps = append(jumps, jump{fee[i], i, 1 - p[i]}, jump{fee[i] + 1, i, 1})
	}
	slices.SortStableFunc(jumps, func(a, b jump) int { return cmp.Compare(a.at, b.at) })
	cdf := make([]float64, len(p))
	var expected, before float64
	for _, j := range jumps {
		cdf[j.of] = j.cdf
		now := 1.0
		for _, c := range cdf {
			now *= c
		}
		expected += j.at * (now - before)
		before = now
	}
	return expected
}
