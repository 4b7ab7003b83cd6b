package offpolicy

import (
	"fmt"
	"math"

	"pipe/models"
)

// Settings are those of [Estimate].
type Settings struct {
	Estimator string `json:"estimator"` // a name of [Estimators]
	Tuning
	// Interval is IntervalBootstrap or IntervalNormal. Both are over clusters, and for one look: whoever looks again while a
	// log grows needs package anytime.
	Interval  string  `json:"interval"`
	Level     float64 `json:"level"`     // two-sided coverage in (0, 1)
	Resamples int     `json:"resamples"` // of the bootstrap, at least 2
	Seed      uint64  `json:"seed"`      // of the bootstrap
}

// The kinds of intervals.
const (
	IntervalBootstrap = "bootstrap" // percentiles of resampled clusters
	IntervalNormal    = "normal"    // Student's t by the jackknife over clusters; no random draws
)

// DefaultSettings are doubly robust estimates with bootstrap intervals at 95%.
func DefaultSettings() Settings {
	b := models.DefaultBootstrap(1)
	return Settings{
		Estimator: doublyRobust.Name, Tuning: Tuning{Tau: 10, Lambda: 100},
		Interval: IntervalBootstrap, Level: b.Level, Resamples: b.Resamples, Seed: b.Seed,
	}
}

// Validate returns the first setting that cannot be; nil if there is none.
func (s Settings) Validate() error {
	if _, err := EstimatorNamed(s.Estimator); err != nil {
		return err
	}
	switch {
	case !(s.Tau >= 0):
		return fmt.Errorf("tau %v is not at least 0", s.Tau)
	case !(s.Lambda >= 0) || math.IsInf(s.Lambda, 0):
		return fmt.Errorf("lambda %v is not a number from 0", s.Lambda)
	case s.Interval != IntervalBootstrap && s.Interval != IntervalNormal:
		return fmt.Errorf("interval %q, known are %s, %s", s.Interval, IntervalBootstrap, IntervalNormal)
	case !(s.Level > 0 && s.Level < 1):
		return fmt.Errorf("level %v is outside (0, 1)", s.Level)
	case s.Resamples < 2 && s.Interval == IntervalBootstrap:
		return fmt.Errorf("%d resamples, need at least 2", s.Resamples)
	}
	return nil
}

// Result is what a log says of the target, in units of cost.
type Result struct {
	Estimator string           `json:"estimator"`
	Target    models.Interval  `json:"target"`             // cost of the target
	Baseline  *models.Interval `json:"baseline,omitempty"` // cost of the baseline; nil without one
	// Gain is cost(baseline) - cost(target), positive where the target is cheaper; nil without a baseline. Its interval is
	// that of one term per row, which is 0 on rows on which both choose alike, not a difference of two intervals.
	Gain    *models.Interval `json:"gain,omitempty"`
	Support Support          `json:"support"`
}

// Estimate estimates the cost of the target, and its gain over the baseline if there is one. Errors are those of
// [Settings.Validate] and [Log.Validate], estimates that the estimator needs and the log lacks, a policy that snips cannot
// judge because it never chooses an executed pair, and [models.ErrOneDraw] for fewer than two clusters.
func Estimate(l *Log, s Settings) (*Result, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("off-policy estimate: %w", err)
	}
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("off-policy estimate: %w", err)
	}
	e, _ := EstimatorNamed(s.Estimator)
	if e.Estimates && l.Estimates == nil {
		return nil, fmt.Errorf("off-policy estimate: %s needs estimates of the costs, which FitCosts makes", e.Name)
	}
	intervals, err := l.intervals(e, s)
	if err != nil {
		return nil, fmt.Errorf("off-policy estimate: %w", err)
	}
	r := &Result{Estimator: e.Name, Target: intervals[0], Support: SupportOf(l)}
	if len(intervals) > 1 {
		r.Baseline, r.Gain = &intervals[1], &intervals[2]
	}
	return r, nil
}

// intervals are those of the target and, if there is a baseline, of the baseline and the gain.
func (l *Log) intervals(e Estimator, s Settings) ([]models.Interval, error) {
	target, err := l.influence(e, s.Tuning, "target", l.Target)
	if err != nil {
		return nil, err
	}
	series := [][]float64{target}
	if l.Baseline != nil {
		base, err := l.influence(e, s.Tuning, "baseline", l.Baseline)
		if err != nil {
			return nil, err
		}
		gain := make([]float64, len(base))
		for i := range gain {
			gain[i] = base[i] - target[i]
		}
		series = append(series, base, gain)
	}
	if s.Interval == IntervalBootstrap {
		return models.PairedIntervals(models.BootstrapSettings{Resamples: s.Resamples, Level: s.Level, Seed: s.Seed, Clusters: l.Cluster}, series...)
	}
	out := make([]models.Interval, len(series))
	for i, values := range series {
		if out[i], err = models.StudentInterval(values, l.Cluster, s.Level, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// influence has a value per row, whose mean is the estimate V of a policy's cost: V + v (value - V norm) / mean(v norm), v
// the weight of the row. For a mean of values it is the value itself; for a ratio, how a row moves it.
func (l *Log) influence(e Estimator, t Tuning, name string, policy []float64) ([]float64, error) {
	n := l.Len()
	out, norms := make([]float64, n), make([]float64, n)
	values, norm := 0.0, 0.0
	for i := range n {
		v := l.weight(i)
		value, own := e.Term(l.term(policy, i), t)
		out[i], norms[i] = v*value, v*own
		values += out[i]
		norm += norms[i]
		if err := l.tooLarge(i, out[i]*float64(n)); err != nil {
			return nil, err
		}
	}
	if norm == 0 {
		return nil, fmt.Errorf("%s: the %s never chooses an executed pair", e.Name, name)
	}
	estimate := values / norm
	for i := range out {
		out[i] = estimate + (out[i]-estimate*norms[i])*float64(n)/norm
		if err := l.tooLarge(i, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// term is what row i and a policy give an estimator.
func (l *Log) term(policy []float64, i int) Term {
	r := Term{Ratio: l.ratio(policy, i), Cost: l.Cost[i]}
	if l.Estimates == nil {
		return r
	}
	q := l.of(l.Estimates, i)
	for a, p := range l.of(policy, i) {
		r.Expected += p * q[a]
	}
	r.Estimate = q[l.Executed[i]]
	return r
}
