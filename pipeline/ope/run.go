package ope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/hint"
	"pipe/models"
	"pipe/models/offpolicy"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

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
	rt, err := o.runtime(both)
	if err != nil {
		return nil, err
	}
	if rt != nil {
		defer rt.Close()
	}
	estimated, err := o.knowPropensities(ctx, r)
	if err != nil {
		return nil, err
	}
	prices, err := priceAll(r, o.Prices, both...)
	if err != nil {
		return nil, err
	}
	if err := o.decideAll(ctx, rt, r, both, prices, report, bar); err != nil {
		return nil, err
	}
	return report, o.judge(ctx, r, both, estimated, report, bar)
}

// read reads the rows of the log or the tensor.
func (o *Options) read(ctx context.Context, both []*candidate, bar stage.Progress) (*rows, error) {
	of, err := infos(both...)
	if err != nil {
		return nil, err
	}
	if !o.Log.IsZero() {
		return readLog(ctx, o, of, bar)
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

// runtime opens ONNX Runtime if something needs it; else nil.
func (o *Options) runtime(both []*candidate) (*ort.Runtime, error) {
	if !slices.ContainsFunc(both, func(c *candidate) bool { return c.file != nil }) {
		return nil, nil
	}
	return ort.Open(o.Device)
}

// decideAll has both policies decide, and leaves out rows on which one may choose nothing that was available.
func (o *Options) decideAll(ctx context.Context, rt *ort.Runtime, r *rows, both []*candidate, prices []*policy.Prices, report *Report, bar stage.Progress) error {
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

// knowPropensities leaves out rows whose propensity is not known. Where none is, it estimates all if the options say so.
func (o *Options) knowPropensities(ctx context.Context, r *rows) ([]offpolicy.Calibration, error) {
	lacks := func(n int) bool { return math.IsNaN(r.propensities(n)[r.executed[n]]) }
	known := 0
	for n := range r.len() {
		if !lacks(n) {
			known++
		}
	}
	switch {
	case known > 0 && o.Propensity:
		return nil, &stage.OptionError{Err: fmt.Errorf("--estimate-propensities is for logs without any; %d of %d rows have one", known, r.len())}
	case o.Propensity:
		return r.estimatePropensities(ctx, o.Seed)
	case known == 0:
		err := &costs.DataError{File: r.file, Column: "propensity", Msg: "is known of no executed pair, so it is not known for how much each row counts"}
		return nil, hint.With(err, "--estimate-propensities guesses them from the features, which is right only if nothing else decided what was executed")
	}
	r.leaveOut("the propensity of the executed pair is not known", lacks)
	return nil, nil
}

// judge estimates, and looks at what the estimates depend on.
func (o *Options) judge(ctx context.Context, r *rows, both []*candidate, estimated []offpolicy.Calibration, report *Report, bar stage.Progress) error {
	bar.Start(int64(len(o.estimators())+1), "estimates")
	defer bar.Done()
	j := newJudged(o, r, both[0], both[1])
	if len(j.units()) < 2 {
		return &costs.DataError{File: r.file, Msg: fmt.Sprintf("there is no interval: %d rows of one draw", r.len()), Err: models.ErrOneDraw}
	}
	for _, name := range o.estimators() {
		e, err := j.estimate(ctx, name)
		if errors.Is(err, offpolicy.ErrNoMatch) && o.Estimator == All {
			report.Cautions = append(report.Cautions, fmt.Sprintf("No estimate by %s.", err))
			continue
		}
		if errors.Is(err, offpolicy.ErrNoMatch) {
			return &costs.DataError{File: r.file, Err: err}
		}
		if err != nil {
			return err
		}
		report.Estimates = append(report.Estimates, e)
		bar.Add(1)
	}
	var err error
	if report.Anytime, err = j.anytime(ctx, o); err != nil {
		return err
	}
	if note := j.wider(o); note != "" && report.Anytime.Why == "" {
		report.Cautions = append(report.Cautions, note)
	}
	if e, _ := offpolicy.EstimatorNamed(report.Estimates[0].Name); e.Caution != "" {
		report.Cautions = append(report.Cautions, e.Name+" "+e.Caution+".")
	}
	j.diagnose(report)
	if report.Logged.Estimated = estimated; estimated != nil {
		report.Cautions = append([]string{guessed(estimated)}, report.Cautions...)
		report.Anytime = &Anytime{Low: report.Anytime.Low, High: report.Anytime.High, Why: "the propensities are guessed"}
	}
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
func (j *judged) diagnose(report *Report) {
	r := j.rows
	report.Rows, report.Prices, report.Lambda = r.len(), r.prices, r.lambda
	if c := r.clusters(); c != nil {
		report.Clusters = slices.Max(c) + 1
	}
	report.Support, report.Baseline = j.support(j.subject), j.support(j.against)
	report.Differ, report.Decisive = j.difference(j.subject, j.against)
	report.Outcomes, report.Loggers, report.Left = outcomesOf(r), loggersOf(r), r.left
	report.Logged = propensitiesOf(r)
	report.Cautions = append(report.Cautions, r.notes...)
	for _, c := range []*candidate{j.subject, j.against} {
		report.Cautions = append(report.Cautions, c.learned(r)...)
	}
	if low, high := slices.Min(r.keep), slices.Max(r.keep); low < high {
		report.Cautions = append(report.Cautions, fmt.Sprintf("Rows were kept with probabilities from %g to %g; means count each 1/keep times, the exact interval once.", low, high))
	}
	if report.Logged.Changes {
		report.Cautions = append(report.Cautions, "The probabilities of pairs change over time: what was learned early counts less or more than later rows.")
	}
}

// difference is how probable it is that two policies choose differently on a row, and the effective rows among those on which
// they do. The logged policy differs on rows on which another pair was the most probable; if there are none, its exploration is
// the difference, and all rows tell of it.
func (j *judged) difference(a, b *candidate) (share, effective float64) {
	sum, squares, all := 0.0, 0.0, !a.logged && !b.logged
	for n := range j.len() {
		x, y := j.choice(n, a), j.choice(n, b)
		share += j.apart(n, a, b)
		pair := j.executed[n]
		if x == y || min(x, y) < 0 && pair != max(x, y) {
			continue
		}
		all = true
		if !a.logged && pair == x || !b.logged && pair == y {
			w := 1 / j.propensities(n)[pair]
			sum, squares = sum+w, squares+w*w
		}
	}
	switch {
	case !all && a.logged:
		effective = j.support(b).Effective
	case !all:
		effective = j.support(a).Effective
	case squares > 0:
		effective = sum * sum / squares
	}
	return share / float64(j.len()), effective
}

// apart is the probability that two policies choose differently on row n.
func (j *judged) apart(n int, a, b *candidate) float64 {
	if a.logged {
		a, b = b, a
	}
	choice := a.action[n]
	other := j.executed[n] // its mean is right where probabilities are not known
	switch {
	case !b.logged:
		other = b.action[n]
	case !j.partial(n):
		return 1 - j.propensities(n)[choice]
	}
	if choice == other {
		return 0
	}
	return 1
}

// partial reports whether some probability of row n is not known.
func (j *judged) partial(n int) bool { return slices.ContainsFunc(j.propensities(n), math.IsNaN) }

// choice is the choice of a policy, or the most probable one; -1: it is not known which that is.
func (j *judged) choice(n int, c *candidate) int {
	if !c.logged {
		return c.action[n]
	}
	best, most := j.executed[n], 0.0
	if j.partial(n) && j.propensities(n)[best] <= 0.5 {
		return -1
	}
	for pair, p := range j.propensities(n) {
		if p > most {
			best, most = pair, p
		}
	}
	return best
}

// support is what the log can say of the choices of a policy; nil for the logged one.
func (j *judged) support(c *candidate) *Support {
	if c.logged {
		return nil
	}
	log := j.log
	log.Target = j.distributions(c)
	return supportOf(j.rows, c.action, offpolicy.SupportOf(&log))
}
