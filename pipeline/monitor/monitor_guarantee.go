package monitor

import (
	"errors"

	"pipe/models/drift"
	"pipe/models/policy"
)

// promise watches the guarantee of a policy.
type promise struct {
	of    *policy.Guarantee
	alarm *drift.Alarm
	seen  promiseSeen
}

// promiseSeen are the sums of a promise, for a saved state.
type promiseSeen struct {
	Known   int64   `json:"known"`
	Clipped int64   `json:"clipped"`
	Sum     float64 `json:"sum"`
	RisenAt int64   `json:"risen_at"`
}

// promiseState is a promise in a saved state.
type promiseState struct {
	Seen  promiseSeen      `json:"seen"`
	Alarm drift.AlarmState `json:"alarm"`
}

// newPromise returns nil for a policy without a guarantee.
func newPromise(g *policy.Guarantee, alpha float64) (*promise, error) {
	if g == nil {
		return nil, nil
	}
	a, err := drift.NewAlarm(g.Risk/g.Bound, alpha)
	return &promise{of: g, alarm: a, seen: promiseSeen{RisenAt: NoTime}}, err
}

// add takes the next outcome whose loss is known.
func (p *promise) add(o Outcome) {
	if p == nil || o.Accepted == nil || !*o.Accepted && !p.of.Joint {
		return
	}
	loss := 0.0
	if *o.Accepted {
		loss = o.Loss - o.Fee
	}
	s, risen := &p.seen, p.alarm.Risen() > 0
	s.Known++
	s.Sum += loss
	if rounding := 1e-6 * p.of.Bound; loss < -rounding || loss > p.of.Bound+rounding {
		s.Clipped++
	}
	if p.alarm.Add(loss/p.of.Bound) && !risen {
		s.RisenAt = o.Time
	}
}

// status is nil without a guarantee.
func (p *promise) status(alpha float64, found Verdict) *GuaranteeStatus {
	if p == nil {
		return nil
	}
	s := &GuaranteeStatus{
		Verdict: Untested, Risk: p.of.Risk, Joint: p.of.Joint, Accepted: p.seen.Known, Clipped: p.seen.Clipped, Mean: mean(p.seen.Sum, p.seen.Known), Alpha: alpha,
		Evidence: p.alarm.Evidence(), RisesAt: 1 / alpha, Risen: p.alarm.Risen(), Time: timeText(p.seen.RisenAt),
	}
	switch {
	case s.Risen > 0:
		s.Verdict = found
	case s.Accepted > 0:
		s.Verdict = OK
	}
	return s
}

func (p *promise) state() *promiseState {
	if p == nil {
		return nil
	}
	return &promiseState{p.seen, p.alarm.State()}
}

// resumed is a promise that continues from a state.
func (m *Monitor) resumed(s *promiseState) (*promise, error) {
	p, err := newPromise(m.router.Info().Guarantee, m.o.Alpha)
	switch {
	case err != nil:
		return nil, err
	case (p == nil) != (s == nil):
		return nil, errors.New("the alarm of the guarantee is missing, or there is none")
	case p == nil:
		return nil, nil
	case s.Seen.Known != s.Alarm.N || s.Seen.Clipped < 0 || s.Seen.Clipped > s.Seen.Known || !(s.Seen.Sum <= mostLoss && s.Seen.Sum >= -mostLoss):
		return nil, errors.New("the numbers of accepted decisions contradict each other")
	}
	p.seen = s.Seen
	return p, p.alarm.SetState(s.Alarm)
}
