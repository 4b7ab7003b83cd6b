package gate

import (
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/models/offpolicy/anytime"
	"pipe/pipeline/decisionlog"
)

// Settings of a gate.
type Settings struct {
	// Costs are the smallest and the largest possible cost of a decision: task loss plus fee. Nothing follows from costs that
	// are not within a known range.
	Costs []float64 `yaml:"costs" json:"costs"`
	// Alpha is the probability, in (0, 1), that the interval of the gain is ever wrong; half of it on either side. 0: 0.05.
	Alpha float64 `yaml:"alpha" json:"alpha"`
}

// defaultAlpha is Settings.Alpha if it is 0.
const defaultAlpha = 0.05

// interval returns the settings of the interval for a share of the candidate. The truncation is the largest weight, 1/share, so
// that estimates are used in full: docs/candidates.md compares it with others.
func (s Settings) interval(share float64) anytime.Settings {
	if s.Alpha == 0 {
		s.Alpha = defaultAlpha
	}
	return anytime.Settings{Low: s.Costs[0], High: s.Costs[1], Gain: true, Alpha: s.Alpha, Truncation: 1 / share}
}

// Validate returns why the settings cannot be used.
func (s Settings) Validate() error {
	if len(s.Costs) != 2 {
		return errors.New("costs: the smallest and the largest possible cost of a decision are not known; give both, such as [0, 1]: the task loss plus the fee")
	}
	if err := s.interval(0.5).Validate(); err != nil {
		return fmt.Errorf("costs or alpha: %w", err)
	}
	return nil
}

// Trial is one version of a candidate that is tried beside one version of a live policy.
type Trial struct {
	Live, Candidate *decisionlog.PolicyInfo
	// Share is that of the candidate at the start, above 0 and below 1. Another one in records makes the interval wider, not wrong.
	Share   float64
	Started int64 // microseconds since 1970; earlier decisions do not count
}

// ErrSame means that there is nothing to try: another file of the candidate begins a trial.
var ErrSame = errors.New("the candidate is the live policy: both files have the same content")

// Validate returns why the costs of the two policies do not compare, or [ErrSame].
func (t Trial) Validate() error {
	a, b := t.Live, t.Candidate
	if !(t.Share > 0 && t.Share < 1) {
		return fmt.Errorf("the share %g of the candidate is not between 0 and 1: both policies must decide", t.Share)
	}
	if a.Digest == b.Digest {
		return ErrSame
	}
	if err := a.Actions.SameSet(b.Actions); err != nil {
		return fmt.Errorf("the candidate has other pairs than the live policy: %w", err)
	}
	if a.Lambda != b.Lambda || !sameFees(a.Actions, b.Actions) {
		return errors.New("the candidate has another lambda or other fees than the live policy, so their costs do not compare")
	}
	return nil
}

// ErrMeasuredFees means that costs are not known.
var ErrMeasuredFees = errors.New("what it expects includes measured fees, which outcomes do not have: costs are not known")

// unknownCost reports whether the cost of a decision is not known, because what its policy expects includes measured fees, which
// outcomes do not have.
func unknownCost(about *decisionlog.PolicyInfo, r *decisionlog.Record) bool {
	_, measured := about.Meta[costs.MeterKey]
	return measured && r.UsagePrices == nil
}

func sameFees(a, b *costs.Actions) bool {
	for j, e := range a.Experts {
		if e.Fee != b.Experts[j].Fee {
			return false
		}
	}
	for k, v := range a.Advice {
		if v.Fee != b.Advice[k].Fee {
			return false
		}
	}
	return true
}
