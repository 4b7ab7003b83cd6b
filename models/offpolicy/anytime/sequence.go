package anytime

import (
	"errors"
	"fmt"
	"math"
)

// Interval is an estimate and its interval, in units of cost.
type Interval struct {
	Mean float64 `json:"mean"` // doubly robust, without truncation; IPS without estimates
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// State is all that a [Sequence] knows. It can be kept as JSON.
type State struct {
	Settings    Settings `json:"settings"`
	Units       int      `json:"units"`
	Lower       Side     `json:"lower"`       // of the reward, or of the gain + 1
	Upper       Side     `json:"upper"`       // of 1 - reward, or of 1 - gain
	Design      float64  `json:"design"`      // sum of mass^2 / logged
	Mean        float64  `json:"mean"`        // of terms without truncation, in units of reward
	Squares     float64  `json:"squares"`     // sum of their squared deviations from Mean
	Unsupported float64  `json:"unsupported"` // sum of the probabilities of choices without support
}

// Sequence is an interval that may be looked at after every unit. It is not safe for concurrent use.
type Sequence struct{ state State }

// New starts a sequence. The error is that of [Settings.Validate].
func New(s Settings) (*Sequence, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Sequence{State{Settings: s}}, nil
}

// Resume goes on from a state. A state that no sequence can have is an error.
func Resume(s State) (*Sequence, error) {
	if err := s.Settings.Validate(); err != nil {
		return nil, err
	}
	sum := s.Design + s.Mean + s.Squares + s.Unsupported
	for _, b := range []Side{s.Lower, s.Upper} {
		sum += b.Bets + b.Weighted + b.Penalty + b.Sum + b.Squares
		if b.Bets < 0 || b.Penalty < 0 || b.Squares < 0 {
			return nil, errors.New("anytime interval: the state has a negative sum of squares or bets")
		}
	}
	if s.Units < 0 || s.Design < 0 || s.Squares < 0 || s.Unsupported < 0 || !finite(sum) {
		return nil, errors.New("anytime interval: the state has a count or sum that is negative or not finite")
	}
	return &Sequence{s}, nil
}

// State returns what [Resume] takes.
func (s *Sequence) State() State { return s.state }

// Add takes one unit: a row, or all rows of a user whose pairs were not drawn anew for each row. The rows of a unit count
// by their mean. An error names the row of the unit, from 0, and the column; the sequence is then as before.
func (s *Sequence) Add(unit ...Row) error {
	if len(unit) == 0 {
		return errors.New("anytime interval: a unit without rows")
	}
	var mean terms
	n := float64(len(unit))
	for i := range unit {
		t, err := s.terms(&unit[i])
		if err != nil {
			return fmt.Errorf("anytime interval: row %d: %w", i, err)
		}
		mean.lower += t.lower / n
		mean.upper += t.upper / n
		mean.plain += t.plain / n
		mean.design += t.design / n
		mean.unsupported += t.unsupported / n
	}
	s.add(mean)
	return nil
}

func (s *Sequence) terms(r *Row) (terms, error) {
	if err := r.Check(); err != nil {
		return terms{}, err
	}
	return s.state.Settings.terms(r)
}

func (s *Sequence) add(t terms) {
	st := &s.state
	scale := 1 + st.Settings.Truncation
	s.addTo(&st.Lower, t.lower/scale)
	s.addTo(&st.Upper, t.upper/scale)
	st.Units++
	st.Design += t.design
	st.Unsupported += t.unsupported
	ahead := t.plain - st.Mean
	st.Mean += ahead / float64(st.Units)
	st.Squares += ahead * (t.plain - st.Mean)
}

// designUnits is how many units the design's variance counts as beside the variance that was seen. Without it, rows before
// the first large weight suggest a variance that is far too small.
const designUnits = 50

// addTo adds a value to a side. The first one makes no bet: nothing is known of its variance.
func (s *Sequence) addTo(b *Side, x float64) {
	st := &s.state
	scale, past := 1+st.Settings.Truncation, float64(st.Units)
	if st.Units == 0 {
		b.add(x, 1/scale, 0)
		return
	}
	centre := min(b.Sum/past, 1/scale)
	design := st.Design / past / (scale * scale)
	variance := (designUnits*design + b.Squares) / (designUnits + past)
	b.add(x, centre, bet(st.Units+1, variance, st.Settings.Alpha/2))
}

// Interval is the exact one. It is [Low, High] of the settings, or what a gain can be, before the second unit. With all units
// added so far it is never wrong with probability 1 - Alpha, looked at as often as one likes. Without any unit the mean is
// NaN.
func (s *Sequence) Interval() Interval {
	set := s.state.Settings
	scale, alpha := 1+set.Truncation, set.Alpha/2
	low, high := s.state.Lower.low(alpha)*scale, 1-s.state.Upper.low(alpha)*scale
	if set.Gain {
		low--
	}
	return s.inCost(low, high)
}

// Asymptotic is an interval that is narrower and holds for many units only: in worlds with large weights it is wrong more
// often than Alpha. It is narrowest at the planned number of units, at least 1. Its formula is that of Waudby-Smith, Arbour,
// Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences" (arXiv 2103.06476).
func (s *Sequence) Asymptotic(planned int) (Interval, error) {
	if planned < 1 {
		return Interval{}, fmt.Errorf("anytime interval: %d planned units", planned)
	}
	if s.state.Units < 2 {
		return s.inCost(math.Inf(-1), math.Inf(1)), nil
	}
	t := float64(s.state.Units)
	half := math.Sqrt(s.state.Squares/t/t) * AsymptoticFactor(t, s.state.Settings.Alpha, planned)
	return s.inCost(s.state.Mean-half, s.state.Mean+half), nil
}

// AsymptoticFactor is the number of standard errors of a mean over units that makes half an interval as that of
// [Sequence.Asymptotic]: about 3 where a normal interval of 95% has 1.96.
func AsymptoticFactor(units, alpha float64, planned int) float64 {
	a, t := alpha, units
	rho2 := (-a*a - 2*math.Log(a) + math.Log(1-2*math.Log(a)-a*a)) / float64(planned)
	return math.Sqrt(2 * (t*rho2 + 1) / (t * rho2) * math.Log(math.Sqrt(t*rho2+1)/a))
}

// Unsupported is the share of the target's choices that the system never executes, so that nothing is known of their cost;
// NaN before the first unit. The exact interval takes the worst cost for them.
func (s *Sequence) Unsupported() float64 { return s.state.Unsupported / float64(s.state.Units) }

// Units is the number of units that were added.
func (s *Sequence) Units() int { return s.state.Units }

// inCost turns bounds on the reward, or on the gain of reward, into an interval of costs within what they can be.
func (s *Sequence) inCost(low, high float64) Interval {
	set := s.state.Settings
	width, mean := set.High-set.Low, s.state.Mean
	if s.state.Units == 0 {
		mean = math.NaN()
	}
	if set.Gain {
		return Interval{Mean: width * mean, Low: width * max(-1, min(1, low)), High: width * min(1, max(-1, high))}
	}
	low, high = max(0, min(1, low)), min(1, max(0, high))
	return Interval{Mean: set.High - width*mean, Low: set.High - width*high, High: set.High - width*low}
}
