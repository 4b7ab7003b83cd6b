package anytime

import (
	"errors"
	"fmt"
	"math"
)

// Row is one logged decision. Slices have a value per pair and are only read.
type Row struct {
	Executed int     // the pair whose cost is known
	Cost     float64 // of the executed pair

	// Logged are the probabilities with which the whole system executes each pair. NaN: not known, of a pair that was not
	// executed.
	Logged    []float64
	Target    []float64 // the probabilities of the policy in question; they add up to 1
	Baseline  []float64 // those of the policy that it is compared with; nil: none
	Estimates []float64 // of the cost of each pair; nil: none
}

// sumTolerance is by how much probabilities may miss 1: those of 1,000 pairs in float32 miss by less.
const sumTolerance = 1e-4

// Check returns why the row is none: wrong lengths, an executed pair without a probability, probabilities outside [0, 1] or
// that do not add up, numbers that are not finite. The error names the column, and the pair counted from 0.
func (r Row) Check() error {
	pairs := len(r.Target)
	switch {
	case pairs == 0:
		return errors.New("target: no pairs")
	case r.Executed < 0 || r.Executed >= pairs:
		return fmt.Errorf("executed: pair %d of %d", r.Executed, pairs)
	case !finite(r.Cost):
		return fmt.Errorf("cost: %v", r.Cost)
	}
	for _, c := range [...]struct {
		name   string
		values []float64
		may    bool // be nil
	}{{"logged", r.Logged, false}, {"baseline", r.Baseline, true}, {"estimates", r.Estimates, true}} {
		if len(c.values) != pairs && !(c.may && c.values == nil) {
			return fmt.Errorf("%s: %d values for %d pairs", c.name, len(c.values), pairs)
		}
	}
	for a, v := range r.Estimates {
		if !finite(v) {
			return fmt.Errorf("estimates: pair %d: %v", a, v)
		}
	}
	return r.checkProbabilities()
}

func (r Row) checkProbabilities() error {
	if p := r.Logged[r.Executed]; math.IsNaN(p) || p == 0 {
		return fmt.Errorf("logged: pair %d was executed with probability %v", r.Executed, p)
	}
	if err := checkDistribution("logged", r.Logged, true); err != nil {
		return err
	}
	if err := checkDistribution("target", r.Target, false); err != nil || r.Baseline == nil {
		return err
	}
	return checkDistribution("baseline", r.Baseline, false)
}

// checkDistribution reports probabilities that are none. Those that are known of some pairs add up to at most 1.
func checkDistribution(name string, p []float64, mayMiss bool) error {
	sum, missing := 0.0, false
	for a, v := range p {
		if mayMiss && math.IsNaN(v) {
			missing = true
			continue
		}
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("%s: pair %d: %v is no probability", name, a, v)
		}
		sum += v
	}
	if sum > 1+sumTolerance || sum < 1-sumTolerance && !missing {
		return fmt.Errorf("%s: the probabilities add up to %v", name, sum)
	}
	return nil
}

// terms are what a row adds to the two sides, and to the interval that is not exact. All are in units of reward.
type terms struct {
	lower, upper float64 // at least -Truncation; of the estimand + 1 where it can be negative
	plain        float64 // doubly robust, without truncation
	design       float64 // sum over pairs of mass^2 / logged: a bound on the mean square of the weighted part
	unsupported  float64 // probability of the target's choices that the system never executes
}

// mass is by how much the estimand grows with the reward of a pair.
func (r *Row) mass(a int, gain bool) float64 {
	if gain {
		return r.Target[a] - r.Baseline[a]
	}
	return r.Target[a]
}

// terms returns those of a row that was checked, or why the row does not fit the settings.
func (s Settings) terms(r *Row) (t terms, err error) {
	if !(r.Cost >= s.Low && r.Cost <= s.High) {
		return t, fmt.Errorf("cost: %v is outside the range from %v to %v", r.Cost, s.Low, s.High)
	}
	if s.Gain && r.Baseline == nil {
		return t, errors.New("baseline: the gain needs its probabilities")
	}
	d := r.mass(r.Executed, s.Gain) / r.Logged[r.Executed]
	reward := s.reward(r.Cost)
	if r.Estimates == nil {
		t.plain = d * reward
	} else {
		t.plain = d * (reward - s.estimate(r, r.Executed))
	}
	t.lower, t.upper = s.corrected(r, d, reward), s.corrected(r, -d, reward)
	for a := range r.Target {
		if err := s.addPair(&t, r, a); err != nil {
			return t, err
		}
	}
	if s.Gain {
		t.lower++
	}
	t.upper++
	if sum := t.plain*t.plain + t.lower*t.lower + t.upper*t.upper + t.design; !finite(sum) {
		return t, fmt.Errorf("logged: pair %d: probability %v makes a weight that is too large", r.Executed, r.Logged[r.Executed])
	}
	return t, nil
}

// estimate is the reward that is expected of a pair, moved into [0, 1].
func (s Settings) estimate(r *Row, a int) float64 { return min(1, max(0, s.reward(r.Estimates[a]))) }

// corrected is |d| (s - min(q, k/|d|)) for the executed pair: s is the reward where d is positive, else 1 - reward, and q
// its estimate.
func (s Settings) corrected(r *Row, d, reward float64) float64 {
	if r.Estimates == nil {
		return math.Abs(d) * sided(reward, d)
	}
	return math.Abs(d)*sided(reward, d) - min(math.Abs(d)*sided(s.estimate(r, r.Executed), d), s.Truncation)
}

func sided(reward, d float64) float64 {
	if d < 0 {
		return 1 - reward
	}
	return reward
}

// addPair adds what is expected of pair a: min(|mass| q, k p), with the pair's own weight mass/p. A negative mass m counts
// as -m (1 - reward) + m.
func (s Settings) addPair(t *terms, r *Row, a int) error {
	m, p := r.mass(a, s.Gain), r.Logged[a]
	t.lower += min(m, 0)
	t.upper -= max(m, 0)
	switch {
	case m == 0:
		return nil
	case p == 0:
		t.unsupported += max(0, r.Target[a])
	case !math.IsNaN(p):
		t.design += m * m / p
	case r.Estimates != nil:
		return fmt.Errorf("logged: pair %d: its probability is not known, which estimates need", a)
	}
	if math.IsNaN(p) || r.Estimates == nil {
		return nil
	}
	q := s.estimate(r, a)
	t.plain += m * q
	t.lower += min(math.Abs(m)*sided(q, m), s.Truncation*p)
	t.upper += min(math.Abs(m)*sided(q, -m), s.Truncation*p)
	return nil
}
