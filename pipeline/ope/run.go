package ope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// loggedName is what the policy that made the log is called.
const loggedName = "the logged policy"

// Run says what a policy would have cost, and writes the page. Options that cannot be are *stage.OptionError; a log that
// cannot be used is a *costs.DataError.
func Run(ctx context.Context, o Options, bar stage.Progress) (*Report, error) {
	bar = stage.OrQuiet(bar)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	r, err := o.run(ctx, bar)
	if err != nil || o.Out.IsZero() {
		return r, err
	}
	return r, atomicfile.WriteAt(ctx, o.Out, r.WriteHTML)
}

func (o *Options) run(ctx context.Context, bar stage.Progress) (*Report, error) {
	subject, err := openCandidate(ctx, o.Policy)
	if err != nil {
		return nil, err
	}
	against, err := openCandidate(ctx, o.Against)
	if err != nil {
		return nil, err
	}
	both := []*candidate{subject, against}
	r, err := o.read(ctx, both, bar)
	if err != nil {
		return nil, err
	}
	report := &Report{Format: 1, File: r.file, Policy: subject.name, Digest: subject.digest, Against: against.name, Level: o.Level}
	if err := o.knowPropensities(ctx, r, report); err != nil {
		return nil, err
	}
	prices, err := priceAll(r, o.Prices, both...)
	if err != nil {
		return nil, err
	}
	if err := o.decideAll(ctx, r, both, prices, report, bar); err != nil {
		return nil, err
	}
	return report, o.judge(ctx, r, both, report, bar)
}

// read reads the rows of the log or the tensor.
func (o *Options) read(ctx context.Context, both []*candidate, bar stage.Progress) (*rows, error) {
	of, err := infos(both...)
	if err != nil {
		return nil, err
	}
	if !o.Log.IsZero() {
		r, _, err := readLog(ctx, o, of, bar)
		return r, err
	}
	t, r, err := readTensor(ctx, o, bar)
	if err != nil {
		return nil, err
	}
	r.lambda = lambdaOf(o, of)
	for _, info := range of {
		if err := info.Matches(t); err != nil {
			return nil, &costs.DataError{File: r.file, Err: err}
		}
	}
	return r, nil
}

// lambdaOf is the multiplier of advice fees for a tensor: as the options say, or that of the policy; else 1.
func lambdaOf(o *Options, of []*policy.Info) float64 {
	switch {
	case o.Prices.Lambda != nil:
		return *o.Prices.Lambda
	case len(of) > 0:
		return of[0].Lambda
	}
	return 1
}

// decideAll has both policies decide, and leaves out rows on which one may choose nothing that was available.
func (o *Options) decideAll(ctx context.Context, r *rows, both []*candidate, prices []*policy.Prices, report *Report, bar stage.Progress) error {
	var rt *ort.Runtime
	if slices.ContainsFunc(both, func(c *candidate) bool { return c.file != nil }) {
		var err error
		if rt, err = ort.Open(o.Device); err != nil {
			return err
		}
		defer rt.Close()
	}
	for i, c := range both {
		if err := c.decideRows(ctx, rt, r, prices[i], o.Prices.Without, bar); err != nil {
			return err
		}
		if prices[i] != nil {
			report.Decided = append(report.Decided, Decided{c.name, decide.NewUsedPrices(c.file.Info.Actions, prices[i], nil)})
		}
	}
	keep, lost := make([]bool, r.len()), 0
	for n := range keep {
		keep[n] = !slices.ContainsFunc(both, func(c *candidate) bool { return c.action != nil && c.action[n] < 0 })
		if !keep[n] {
			lost++
		}
	}
	if lost == r.len() {
		return &costs.DataError{File: r.file, Msg: "no pair that the policy may choose was available on any row"}
	}
	for _, c := range both {
		c.action = kept(c.action, keep[:len(c.action)], 1)
	}
	r.keepOnly(keep)
	r.left.add(lost, "no pair that the policy may choose was available")
	return nil
}

// knowPropensities estimates the probabilities of executed pairs that are not known, if the options say so; else rows without
// one are left out, or all are.
func (o *Options) knowPropensities(ctx context.Context, r *rows, report *Report) error {
	lacks := 0
	for n, pair := range r.executed {
		if math.IsNaN(r.propensities(n)[pair]) {
			lacks++
		}
	}
	switch {
	case lacks == 0:
		return nil
	case o.Propensity:
		return r.estimatePropensities(ctx, o.Seed, report)
	case lacks == r.len():
		return &unknownError{costs.DataError{File: r.file, Column: "propensity", Msg: "is known of no executed pair, so it is not known for how much each row counts"}}
	}
	r.leaveOut("the propensity of the executed pair is not known", func(n int) bool { return math.IsNaN(r.propensities(n)[r.executed[n]]) })
	return nil
}

// unknownError means that no propensity is known.
type unknownError struct{ costs.DataError }

func (e *unknownError) Unwrap() error { return &e.DataError }

// Hint says what the user can do.
func (e *unknownError) Hint() string {
	return "--estimate-propensities estimates them from the features, which is right only if nothing else decided what was executed"
}

// judge estimates, and looks at what the estimates depend on.
func (o *Options) judge(ctx context.Context, r *rows, both []*candidate, report *Report, bar stage.Progress) error {
	bar.Start(0, "estimates")
	defer bar.Done()
	j := &judged{rows: r, fees: r.actions.Fees(r.lambda)}
	var err error
	if j.expected, err = r.expect(ctx, j.fees, r.crossFolds(o.Seed)); err != nil {
		return err
	}
	b := models.DefaultBootstrap(o.Seed)
	b.Level, b.Resamples, b.Clusters = o.Level, o.Resamples, r.clusters()
	for _, name := range o.estimators() {
		e, err := j.estimate(name, both[0], both[1], b)
		if errors.Is(err, models.ErrOneDraw) {
			return &costs.DataError{File: r.file, Msg: "there is no interval: the rows are one draw", Err: err}
		}
		if err != nil {
			return err
		}
		report.Estimates = append(report.Estimates, e)
	}
	if report.Anytime, err = j.anytime(ctx, o, both[0], both[1]); err != nil {
		return err
	}
	if note := j.wider(o); note != "" {
		report.Cautions = append(report.Cautions, note)
	}
	j.diagnose(both[0], both[1], report)
	report.conclude()
	return nil
}

func (o *Options) estimators() []string {
	if o.Estimator == All {
		return Estimators()
	}
	return []string{o.Estimator}
}

// diagnose fills in what the estimates depend on.
func (j *judged) diagnose(subject, against *candidate, report *Report) {
	r := j.rows
	report.Rows, report.Prices, report.Lambda = r.len(), r.prices, r.lambda
	if c := r.clusters(); c != nil {
		report.Clusters = slices.Max(c) + 1
	}
	for c, to := range map[*candidate]**Support{subject: &report.Support, against: &report.Baseline} {
		if !c.logged {
			*to = supportOf(r, c.action)
		}
	}
	report.Differ, report.Decisive = j.difference(subject, against)
	report.Outcomes, report.Loggers, report.Left = outcomesOf(r), loggersOf(r), r.left
	estimated := report.Logged
	report.Logged = propensitiesOf(r)
	if estimated != nil {
		report.Logged.Estimated = estimated.Estimated
	}
	if low, high := slices.Min(r.keep), slices.Max(r.keep); low < high {
		report.Cautions = append(report.Cautions, fmt.Sprintf("Rows were kept with probabilities from %g to %g; means count each 1/keep times, the exact interval once.", low, high))
	}
	if report.Logged.Changes {
		report.Cautions = append(report.Cautions, "The probabilities of pairs change over time: what was learned early counts less or more than later rows.")
	}
}

// difference is the share of rows on which two policies choose differently, and the effective rows among these. The choice of
// the logged policy is the pair that was the most probable.
func (j *judged) difference(a, b *candidate) (share, effective float64) {
	sum, squares, differ := 0.0, 0.0, 0
	for n := range j.len() {
		x, y := j.choice(n, a), j.choice(n, b)
		if x == y {
			continue
		}
		differ++
		if pair := j.executed[n]; !a.logged && pair == x || !b.logged && pair == y {
			w := 1 / j.propensities(n)[pair]
			sum, squares = sum+w, squares+w*w
		}
	}
	if squares > 0 {
		effective = sum * sum / squares
	}
	return float64(differ) / float64(j.len()), effective
}

// choice is the choice of a policy, or the most probable one.
func (j *judged) choice(n int, c *candidate) int {
	if !c.logged {
		return c.action[n]
	}
	best, most := j.executed[n], 0.0
	for pair, p := range j.propensities(n) {
		if p > most {
			best, most = pair, p
		}
	}
	return best
}
