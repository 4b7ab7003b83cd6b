package drift

import (
	"fmt"
	"math"
	"slices"
)

// Alarm watches the mean of a stream of values in [0, 1]. It rises when the values are evidence that their mean exceeds a
// level. As long as every value has, given those before it, an expectation of at most the level, the probability that the
// alarm ever rises is at most alpha, however long the stream and whenever one looks. Values may depend on each other.
//
// The evidence is an e-process, the wealth of bets that are fair or worse while the mean is at most the level (Ville 1939;
// Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"). A bet multiplies its stake by
// 1 + s*(value - level), with a stake s below 1/level. Money is spread over twenty sizes of s, and over all times at which
// to start betting: half starts at once, the rest later, so that a long good time does not delay an alarm by much.
type Alarm struct {
	level, alpha float64
	stakes       []float64
	saved        float64 // money that has not started betting
	state        AlarmState
}

// AlarmState is what an Alarm remembers, for JSON.
type AlarmState struct {
	N      int64     `json:"n"`      // values so far
	Wealth []float64 `json:"wealth"` // of the started bets, by size; nil: none started
	Peak   float64   `json:"peak"`   // largest evidence so far
	At     int64     `json:"at"`     // number of the value at which the alarm rose; 0: it has not
}

// Bets of an Alarm: stakes are most of 1/level, and this many smaller ones, each by the square root of 2.
const (
	bets    = 20
	mostBet = 0.95
)

// NewAlarm watches for a mean above level, in (0, 1). An error says what is outside of its range.
func NewAlarm(level, alpha float64) (*Alarm, error) {
	if !(level > 0 && level < 1) || !(alpha > 0 && alpha < 1) {
		return nil, fmt.Errorf("alarm: level %v and alpha %v must lie in (0, 1)", level, alpha)
	}
	a := &Alarm{level: level, alpha: alpha, saved: 1, state: AlarmState{Peak: 1}}
	for i := range bets {
		a.stakes = append(a.stakes, mostBet/level*math.Pow(2, -float64(i)/2))
	}
	return a, nil
}

// saved is the money that has not started betting after n values.
func saved(n int64) float64 {
	if n == 0 {
		return 1
	}
	return 1 / (2 * (1 + math.Log(float64(n))))
}

// Add takes the next value, cut to [0, 1], and reports whether the alarm has risen, now or before.
func (a *Alarm) Add(value float64) bool {
	s := &a.state
	value = min(1, max(0, value))
	if s.Wealth == nil {
		s.Wealth = make([]float64, bets)
	}
	start := a.saved
	a.saved = saved(s.N + 1)
	start -= a.saved
	for i, stake := range a.stakes {
		s.Wealth[i] = min(mostWealth, (s.Wealth[i]+start)*(1+stake*(value-a.level)))
	}
	s.N++
	evidence := a.Evidence()
	s.Peak = max(s.Peak, evidence)
	if s.At == 0 && evidence >= 1/a.alpha {
		s.At = s.N
	}
	return s.At > 0
}

// mostWealth keeps the wealth finite, long after the alarm has risen.
const mostWealth = 1e300

// Evidence is the wealth now, from 1 at the start. The alarm rises at 1/alpha.
func (a *Alarm) Evidence() float64 {
	wealth := 0.0
	for _, w := range a.state.Wealth {
		wealth += w / bets
	}
	return wealth + a.saved
}

// Risen is the number of the value at which the alarm rose, from 1; 0 if it has not.
func (a *Alarm) Risen() int64 { return a.state.At }

// Peak is the largest Evidence so far.
func (a *Alarm) Peak() float64 { return a.state.Peak }

// State is a copy of what the alarm remembers.
func (a *Alarm) State() AlarmState {
	s := a.state
	s.Wealth = slices.Clone(s.Wealth)
	return s
}

// SetState continues from a state. One that no stream leads to is an error; then nothing changes.
func (a *Alarm) SetState(s AlarmState) error {
	started := s.N > 0
	if s.N < 0 || s.At < 0 || s.At > s.N || !(s.Peak >= 1 && s.Peak <= 2*mostWealth) || started != (len(s.Wealth) == bets) || !started && len(s.Wealth) > 0 {
		return fmt.Errorf("alarm: %d values, risen at %d, peak %v and %d bets do not fit", s.N, s.At, s.Peak, len(s.Wealth))
	}
	if slices.ContainsFunc(s.Wealth, func(w float64) bool { return !(w >= 0 && w <= mostWealth) }) {
		return fmt.Errorf("alarm: a wealth is outside 0 to %g", mostWealth)
	}
	s.Wealth = slices.Clone(s.Wealth)
	if !started {
		s.Wealth = nil
	}
	a.state, a.saved = s, saved(s.N)
	return nil
}
