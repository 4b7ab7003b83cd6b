package ope

import (
	"math"
	"slices"

	"pipe/models"
)

// The estimators.
const (
	DR    = "dr"
	IPS   = "ips"
	SNIPS = "snips"
	DM    = "dm"
	All   = "all" // of Options: every one, dr first
)

// Estimators are the names of all of them, the default one first.
func Estimators() []string { return []string{DR, IPS, SNIPS, DM} }

func isEstimator(name string) bool { return slices.Contains(Estimators(), name) }

// judged is what an estimator needs of the rows: costs at the fees, and what was expected of every pair by models of other rows.
type judged struct {
	*rows
	fees     []float64 // A
	expected []float64 // N x A
}

// expect is what was expected of a pair on a row.
func (j *judged) expect(n, pair int) float64 { return j.expected[n*j.pairs()+pair] }

// terms has a number per row, whose mean is the estimated cost of a policy.
func (j *judged) terms(name string, c *candidate) []float64 {
	if c.logged {
		return j.loggedTerms(name)
	}
	out := make([]float64, j.len())
	sum := 0.0
	for n, choice := range c.action {
		w := 0.0
		if choice == j.executed[n] {
			w = 1 / j.propensities(n)[choice]
		}
		sum += w
		switch cost := j.cost(n, j.fees); name {
		case IPS, SNIPS:
			out[n] = w * cost
		case DM:
			out[n] = j.expect(n, choice)
		default:
			out[n] = j.expect(n, choice) + w*(cost-j.expect(n, j.executed[n]))
		}
	}
	if name == SNIPS {
		j.normalise(out, c.action, sum)
	}
	return out
}

// normalise makes the terms of IPS those of SNIPS, to first order: the mean is sum(w c) / sum(w).
func (j *judged) normalise(terms []float64, choices []int, sum float64) {
	total, mean := 0.0, sum/float64(len(terms))
	for _, v := range terms {
		total += v
	}
	value := total / sum
	for n, v := range terms {
		w := 0.0
		if choices[n] == j.executed[n] {
			w = 1 / j.propensities(n)[choices[n]]
		}
		terms[n] = value + (v-w*value)/mean
	}
}

// loggedTerms are those of the policy that made the log. Its cost was measured; estimators with models also use what was
// expected of the draw, so that a comparison does not depend on it.
func (j *judged) loggedTerms(name string) []float64 {
	out := make([]float64, j.len())
	for n, pair := range j.executed {
		out[n] = j.cost(n, j.fees)
		if name != DR {
			continue
		}
		mean := 0.0
		for a, p := range j.propensities(n) {
			mean += p * j.expect(n, a)
		}
		if !math.IsNaN(mean) {
			out[n] += mean - j.expect(n, pair)
		}
	}
	return out
}

// estimate is what one estimator says of two policies.
func (j *judged) estimate(name string, policy, against *candidate, b models.BootstrapSettings) (Estimate, error) {
	e := Estimate{Name: name}
	target, base, gain, one := j.terms(name, policy), j.terms(name, against), make([]float64, j.len()), make([]float64, j.len())
	for n := range gain {
		w := 1 / j.keep[n]
		target[n], base[n], one[n] = w*target[n], w*base[n], w
		gain[n] = base[n] - target[n]
	}
	values, err := models.PairedRatios(b, [][]float64{target, base, gain, gain}, [][]float64{one, one, one, base})
	if err != nil {
		return e, err
	}
	e.Policy, e.Against, e.Gain, e.Share = *values[0], *values[1], *values[2], values[3]
	return e, nil
}
