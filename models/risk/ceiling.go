package risk

import (
	"fmt"
	"math"
	"slices"
)

// Ceiling is what no decision on some samples can exceed: it is known before there is a policy.
type Ceiling struct {
	Samples  int     `json:"samples"`  // rows, where rows that belong together count as one
	Least    int     `json:"least"`    // fewest samples that show the risk if none of them has a loss
	Accepted float64 `json:"accepted"` // share of the samples that are accepted at most, if each has its smallest loss; 0: the promise is impossible
}

// CeilingOf is the ceiling of a promise on samples whose smallest possible losses are known, whatever is decided on each: a threshold keeps
// the promise only if the samples that it accepts pass one test, and none does that more easily than those with the smallest losses. The error that
// is allowed is not divided among the starts of the walk, since a walk over few thresholds has fewer. binary is that of [Rows].
func CeilingOf(smallest []float64, binary bool, s Settings) (Ceiling, error) {
	if err := s.Validate(); err != nil {
		return Ceiling{}, err
	}
	losses := slices.Clone(smallest)
	for n, loss := range losses {
		if !(loss >= 0 && loss <= s.Bound*(1+rounding)) {
			return Ceiling{}, &LossError{n, loss, s.Bound}
		}
		losses[n] = loss / s.Bound
	}
	slices.Sort(losses)
	c := Ceiling{Samples: len(losses), Least: s.least()}
	n, sum, won, alpha := len(losses), 0.0, 0.0, s.Risk/s.Bound
	for i, loss := range losses {
		sum += loss
		holds := false
		switch s.Method {
		case RCPS: // a bet wins at most log(1 + r - L), with the largest stake, and nothing is lost without one
			won += max(0, math.Log1p(alpha-loss))
			holds = won > -math.Log(1-s.Confidence)
		case CRC:
			holds = conformal(sum, n) <= alpha
		default:
			holds = hoeffdingBentkus(sum, i+1, alpha, binary) <= 1-s.Confidence
		}
		if holds {
			c.Accepted = float64(i+1) / float64(n)
		}
	}
	return c, nil
}

// least is the smallest number of samples without a loss that show the risk.
func (s Settings) least() int {
	alpha, nothing := s.Risk/s.Bound, -math.Log(1-s.Confidence)
	switch s.Method {
	case RCPS:
		return int(math.Floor(nothing/math.Log1p(alpha))) + 1
	case CRC:
		return int(math.Ceil(1/alpha - 1 - rounding))
	}
	return int(math.Ceil(nothing/-math.Log1p(-alpha) - rounding))
}

// Words say it within a sentence, of samples that are called so.
func (c Ceiling) Words(samples string) string {
	switch {
	case c.Samples < c.Least:
		return fmt.Sprintf("%d %s are too few: with no error at all it takes %d", c.Samples, samples, c.Least)
	case c.Accepted == 0:
		return fmt.Sprintf("even the best pair of each of the %d %s errs too often", c.Samples, samples)
	}
	return fmt.Sprintf("at most %.1f%% of the %d %s could be accepted, if each had its best pair", 100*c.Accepted, c.Samples, samples)
}
