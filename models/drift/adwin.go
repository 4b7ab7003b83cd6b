package drift

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ADWINSettings are the parameters of [ADWIN]. They have the names and the meaning that they have in the Python package
// river.
type ADWINSettings struct {
	Delta           float64 `json:"delta"`             // in (0, 1): smaller values find fewer changes
	Clock           int     `json:"clock"`             // values between two searches for a change
	MaxBuckets      int     `json:"max_buckets"`       // summaries of each size before two of them are merged, at least 2
	MinWindowLength int     `json:"min_window_length"` // fewest values on either side of a cut
	GracePeriod     int     `json:"grace_period"`      // no search before the window has more values
}

// DefaultADWIN has the defaults of river.
func DefaultADWIN() ADWINSettings {
	return ADWINSettings{Delta: 0.002, Clock: 32, MaxBuckets: 5, MinWindowLength: 5, GracePeriod: 10}
}

// Validate reports every problem at once.
func (s ADWINSettings) Validate() error {
	var problems []error
	if !(s.Delta > 0 && s.Delta < 1) {
		problems = append(problems, fmt.Errorf("adwin: delta %v is outside (0, 1)", s.Delta))
	}
	for _, c := range []struct {
		name               string
		value, least, most int
	}{
		{"clock", s.Clock, 1, 1 << 30}, {"max buckets", s.MaxBuckets, 2, 1 << 10}, {"min window length", s.MinWindowLength, 1, 1 << 30},
	} {
		if c.value < c.least || c.value > c.most {
			problems = append(problems, fmt.Errorf("adwin: %s %d is outside %d to %d", c.name, c.value, c.least, c.most))
		}
	}
	if s.GracePeriod < 0 {
		problems = append(problems, fmt.Errorf("adwin: grace period %d is negative", s.GracePeriod))
	}
	return errors.Join(problems...)
}

// ADWIN keeps a window of the latest values of a stream, as long as their mean does not change. When the means of an
// older and a newer part differ by more than chance explains, it drops the older values and reports a change (Bifet and
// Gavaldà 2007, "Learning from time-changing data with adaptive windowing", algorithm ADWIN2). Values should lie in [0, 1].
//
// It equals river's drift.ADWIN step by step: after a change has been reported, the next value starts a new window. The
// chance that it ever reports a change in a stream without one is not bounded: use [Alarm] for that.
type ADWIN struct {
	settings ADWINSettings
	state    ADWINState
}

// ADWINState is what an ADWIN remembers, for JSON.
type ADWINState struct {
	Levels     []ADWINLevel `json:"levels"` // level i has summaries of 2^i values
	Width      float64      `json:"width"`  // values in the window
	Total      float64      `json:"total"`  // their sum
	Squares    float64      `json:"squares"`
	Tick       int          `json:"tick"`
	Detected   bool         `json:"detected"`
	Detections int          `json:"detections"` // of all windows
}

// ADWINLevel has the summaries of one size, the oldest first.
type ADWINLevel struct {
	Totals  []float64 `json:"totals"`
	Squares []float64 `json:"squares"` // sums of squared deviations from the mean of the summary
}

// NewADWIN starts with an empty window.
func NewADWIN(s ADWINSettings) (*ADWIN, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	a := &ADWIN{settings: s}
	a.reset()
	return a, nil
}

func (a *ADWIN) reset() {
	a.state = ADWINState{Levels: make([]ADWINLevel, 1), Detections: a.state.Detections}
}

// Width is the number of values in the window.
func (a *ADWIN) Width() int { return int(a.state.Width) }

// Estimation is the mean of the window, 0 if it is empty.
func (a *ADWIN) Estimation() float64 {
	if a.state.Width == 0 {
		return 0
	}
	return a.state.Total / a.state.Width
}

// Detections is the number of changes so far.
func (a *ADWIN) Detections() int { return a.state.Detections }

// Add takes the next value, which must be finite, and reports whether it completes a change.
func (a *ADWIN) Add(value float64) bool {
	if a.state.Detected {
		a.reset()
	}
	a.insert(value)
	a.state.Tick++
	if a.state.Tick%a.settings.Clock == 0 && a.state.Width > float64(a.settings.GracePeriod) {
		for a.cut() {
			a.dropOldest()
			a.state.Detected = true
		}
	}
	if a.state.Detected {
		a.state.Detections++
	}
	return a.state.Detected
}

// insert adds a value to the window, and merges summaries where a level has too many.
func (a *ADWIN) insert(value float64) {
	s := &a.state
	s.Levels[0].add(value, 0)
	s.Width++
	if before := s.Width - 1; before > 0 {
		off := value - s.Total/before
		s.Squares += before * off * off / s.Width
	}
	s.Total += value
	size := 1.0
	for i := 0; len(s.Levels[i].Totals) > a.settings.MaxBuckets; i++ {
		if i+1 == len(s.Levels) {
			s.Levels = append(s.Levels, ADWINLevel{})
		}
		l := &s.Levels[i]
		off := l.Totals[0]/size - l.Totals[1]/size
		s.Levels[i+1].add(l.Totals[0]+l.Totals[1], l.Squares[0]+l.Squares[1]+size*0.5*off*off)
		l.drop(2)
		size *= 2
	}
}

func (l *ADWINLevel) add(total, squares float64) {
	l.Totals, l.Squares = append(l.Totals, total), append(l.Squares, squares)
}

// drop removes the n oldest summaries.
func (l *ADWINLevel) drop(n int) {
	l.Totals, l.Squares = slices.Delete(l.Totals, 0, n), slices.Delete(l.Squares, 0, n)
}

// cut reports whether the window can be cut between two summaries into parts whose means differ.
func (a *ADWIN) cut() bool {
	s, least := &a.state, float64(a.settings.MinWindowLength)
	old, recent := 0.0, s.Width
	oldSum, recentSum := 0.0, s.Total
	for i := len(s.Levels) - 1; i >= 0; i-- {
		size := math.Ldexp(1, i)
		for k, total := range s.Levels[i].Totals {
			old, recent = old+size, recent-size
			oldSum, recentSum = oldSum+total, recentSum-total
			if i == 0 && k == len(s.Levels[0].Totals)-1 {
				return false // nothing remains on the other side
			}
			if recent >= least && old >= least && math.Abs(oldSum/old-recentSum/recent) > a.threshold(old, recent) {
				return true
			}
		}
	}
	return false
}

// threshold is the largest difference of the means of two parts that counts as chance.
func (a *ADWIN) threshold(old, recent float64) float64 {
	s, least := &a.state, float64(a.settings.MinWindowLength)
	rarity := math.Log(2 * math.Log(s.Width) / a.settings.Delta)
	m := 1/(old-least+1) + 1/(recent-least+1)
	return math.Sqrt(2*m*(s.Squares/s.Width)*rarity) + 2.0/3.0*rarity*m
}

// dropOldest removes the oldest summary from the window.
func (a *ADWIN) dropOldest() {
	s := &a.state
	last := len(s.Levels) - 1
	l, n := &s.Levels[last], math.Ldexp(1, last)
	mean := l.Totals[0] / n
	s.Width -= n
	s.Total -= l.Totals[0]
	rest := s.Total / s.Width
	s.Squares -= l.Squares[0] + n*s.Width*(mean-rest)*(mean-rest)/(n+s.Width)
	l.drop(1)
	if len(l.Totals) == 0 {
		s.Levels = s.Levels[:last]
	}
}

// State is a copy of what the window remembers.
func (a *ADWIN) State() ADWINState {
	s := a.state
	s.Levels = make([]ADWINLevel, len(s.Levels))
	for i, l := range a.state.Levels {
		s.Levels[i] = ADWINLevel{Totals: append([]float64{}, l.Totals...), Squares: append([]float64{}, l.Squares...)}
	}
	return s
}

// SetState continues from a state. One that no stream leads to is an error; then nothing changes.
func (a *ADWIN) SetState(s ADWINState) error {
	if err := s.check(a.settings); err != nil {
		return fmt.Errorf("adwin: %w", err)
	}
	a.state = s
	a.state = a.State()
	return nil
}

// check compares the counts of a state with each other.
func (s ADWINState) check(o ADWINSettings) error {
	if len(s.Levels) < 1 || len(s.Levels) > 62 {
		return fmt.Errorf("%d levels", len(s.Levels))
	}
	width := 0.0
	for i, l := range s.Levels {
		if len(l.Totals) != len(l.Squares) || len(l.Totals) > o.MaxBuckets || i > 0 && len(l.Totals) == 0 {
			return fmt.Errorf("level %d has %d totals and %d squares", i, len(l.Totals), len(l.Squares))
		}
		for k := range l.Totals {
			if !usable(l.Totals[k]) || !usable(l.Squares[k]) {
				return fmt.Errorf("level %d: a sum is not that of values", i)
			}
		}
		width += math.Ldexp(float64(len(l.Totals)), i)
	}
	if s.Width != width || !usable(s.Total) || !usable(s.Squares) || s.Tick < 0 || s.Detections < 0 {
		return fmt.Errorf("width %v, total %v, squares %v, tick %d and detections %d do not fit", s.Width, s.Total, s.Squares, s.Tick, s.Detections)
	}
	return nil
}

// usable reports whether a sum is one of values that stay finite however many follow.
func usable(v float64) bool { return math.Abs(v) <= 1e100 }
