package ope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/offpolicy"
)

// judged is two policies on the rows, at fees.
type judged struct {
	*rows
	fees             []float64 // A
	subject, against *candidate
	log              offpolicy.Log                     // of the subject
	settings         offpolicy.Settings                // of estimates
	expected         map[offpolicy.Weighting][]float64 // costs of every pair by models of other rows, N x A
}

// newJudged prepares the rows for estimators.
func newJudged(o *Options, r *rows, subject, against *candidate) *judged {
	j := &judged{
		rows: r, fees: r.actions.Fees(r.lambda), subject: subject, against: against, settings: offpolicy.DefaultSettings(),
		expected: map[offpolicy.Weighting][]float64{},
	}
	j.settings.Level, j.settings.Resamples, j.settings.Seed = o.Level, o.Resamples, o.Seed
	j.log = offpolicy.Log{Pairs: r.pairs(), Executed: r.executed, Logged: r.logged, Cluster: r.clusters(), Weight: make([]float64, r.len())}
	for n := range r.len() {
		j.log.Cost, j.log.Weight[n] = append(j.log.Cost, r.cost(n, j.fees)), 1/r.keep[n]
	}
	j.log.Target = j.distributions(subject)
	return j
}

// distributions has the probabilities of a policy's choices, N x A. Of the logged policy they are those of the log. Where these are
// not known, the executed pair has all that is not known: only its cost, which was measured, counts then.
func (j *judged) distributions(c *candidate) []float64 {
	if c.logged && !slices.ContainsFunc(j.logged, math.IsNaN) {
		return j.logged
	}
	out := make([]float64, len(j.logged))
	for n, pair := range j.executed {
		if !c.logged {
			pair = c.action[n]
		}
		out[n*j.pairs()+pair] = 1
	}
	return out
}

// expect makes models of costs of other rows, as an estimator needs them.
func (j *judged) expect(ctx context.Context, e offpolicy.Estimator) (err error) {
	if !e.Estimates || j.expected[e.Fit] != nil {
		return nil
	}
	s := offpolicy.DefaultFitSettings(e)
	s.Seed = j.settings.Seed
	j.expected[e.Fit], err = offpolicy.FitCosts(ctx, &j.log, offpolicy.Features{Values: j.features, Dim: j.dim}, s)
	return err
}

// estimate is what one estimator says of the two policies.
func (j *judged) estimate(ctx context.Context, name string) (out Estimate, err error) {
	e, err := offpolicy.EstimatorNamed(name)
	if err != nil {
		return out, err
	}
	if err := j.expect(ctx, e); err != nil {
		return out, err
	}
	target, err := j.influence(e, j.subject)
	if err != nil {
		return out, err
	}
	base, err := j.influence(e, j.against)
	if err != nil {
		return out, err
	}
	gain := make([]float64, j.len())
	for n := range gain {
		gain[n] = base[n] - target[n]
	}
	b := models.BootstrapSettings{Resamples: j.settings.Resamples, Level: j.settings.Level, Seed: j.settings.Seed, Clusters: j.log.Cluster}
	values, err := models.PairedIntervals(b, target, base, gain)
	if err != nil {
		return out, err
	}
	shares, err := models.PairedRatios(b, [][]float64{gain}, [][]float64{base})
	if err != nil {
		return out, err
	}
	for _, v := range values {
		if sum := v.Mean + v.Low + v.High; math.IsNaN(sum) || math.IsInf(sum, 0) {
			return out, &costs.DataError{File: j.file, Msg: fmt.Sprintf("losses from %g to %g are too large for an interval", slices.Min(j.loss), slices.Max(j.loss))}
		}
	}
	return Estimate{Name: name, Policy: values[0], Against: values[1], Gain: values[2], Share: shares[0]}, nil
}

// influence has a value per row whose mean is the estimated cost of a policy.
func (j *judged) influence(e offpolicy.Estimator, c *candidate) ([]float64, error) {
	weight, term := func(n int) float64 { return j.log.Weight[n] }, func(n int) offpolicy.Term { return j.term(e, c, n) }
	values, err := e.Influence(j.len(), weight, term, j.settings.Tuning)
	if row, ok := errors.AsType[*offpolicy.DataError](err); ok {
		return nil, &costs.DataError{File: j.file, Column: "propensity", Msg: fmt.Sprintf("decision %q", j.id[row.Row-1]), Err: errors.New(row.Msg)}
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, c.name)
	}
	return values, nil
}

// term is what row n and a policy give an estimator. The cost of the logged policy was measured, so its ratio is 1, also where its
// probabilities are not known.
func (j *judged) term(e offpolicy.Estimator, c *candidate, n int) offpolicy.Term {
	pair := j.executed[n]
	t := offpolicy.Term{Cost: j.log.Cost[n]}
	switch {
	case c.logged:
		t.Ratio = 1
	case c.action[n] == pair:
		t.Ratio = 1 / j.propensities(n)[pair]
	}
	if !e.Estimates {
		return t
	}
	expected := j.expected[e.Fit][n*j.pairs() : (n+1)*j.pairs()]
	t.Estimate = expected[pair]
	if !c.logged {
		t.Expected = expected[c.action[n]]
		return t
	}
	for a, p := range j.propensities(n) {
		t.Expected += p * expected[a]
	}
	if math.IsNaN(t.Expected) {
		t.Expected = t.Estimate
	}
	return t
}
