package calibrate

import (
	"fmt"
	"math"

	"pipe/costs"
	"pipe/models/risk"
)

// Early is what a table says of a promise before there is a policy.
type Early struct {
	risk.Ceiling
	Split string
	Risk  float64
	Rows  int
	// Unknown losses of pairs that exist count as 0 in Oracle, and their pairs are not Fixed.
	Unknown int
	Oracle  float64 // mean of the smallest loss of every row
	Fixed   string  // the pair with the smallest mean loss; empty: no pair is known on all rows
	Loss    float64 // that loss
}

// Possible says what cannot be exceeded on the calibration rows, whatever is learned. If nothing can be accepted, it is an
// *InfeasibleError. Losses that are not known count as if they could be 0.
func Possible(t *costs.Tensor, split costs.Split, s Settings) (*Early, error) {
	c := calibration{t: t, s: s, rows: t.Rows(split)}
	if len(c.rows) == 0 {
		return nil, noRows(split)
	}
	e := &Early{Split: split.String(), Risk: s.Risk, Rows: len(c.rows), Loss: math.Inf(1)}
	mask, clusters := t.Actions.Mask(), t.Clusters(c.rows)
	smallest, sums := make([]float64, len(clusters.Size)), make([]float64, len(mask))
	for i := range smallest {
		smallest[i] = math.Inf(1)
	}
	for n, row := range c.rows {
		best := s.Bound
		for i, v := range t.Losses(row) {
			if !mask[i] {
				continue
			}
			loss := c.loss(v)
			sums[i] += loss / float64(len(c.rows))
			if loss != loss {
				loss = 0
				e.Unknown++
			}
			best = min(best, max(loss, 0))
		}
		e.Oracle += best / float64(len(c.rows))
		of := clusters.Of[n]
		if s.Method == risk.CRC { // rows that are not accepted count in the mean of those that belong together
			best /= float64(clusters.Size[of])
		}
		smallest[of] = min(smallest[of], best)
	}
	for i, mean := range sums {
		if mask[i] && mean < e.Loss {
			e.Fixed, e.Loss = t.Actions.Name(i), mean
		}
	}
	var err error
	if e.Ceiling, err = risk.CeilingOf(smallest, c.binary(), s.Settings); err != nil {
		return nil, err
	}
	if e.Accepted == 0 {
		return nil, &InfeasibleError{Risk: s.Risk, Confidence: s.confidence(), Rows: len(c.rows), Why: e.words()}
	}
	return e, nil
}

// String is a note.
func (e *Early) String() string {
	known, of := "", ""
	if e.Unknown > 0 {
		known, of = fmt.Sprintf(" if the %d losses that are not known are 0", e.Unknown), " of those whose losses are all known"
	}
	fixed := "no pair has a known loss on all of them"
	if e.Fixed != "" {
		fixed = fmt.Sprintf("the best fixed pair%s, %s, has one of %.4f", of, e.Fixed, e.Loss)
	}
	return fmt.Sprintf("a risk of at most %g: of the calibration rows (split %s), %s; the best pair of each row has a mean loss of %.4f%s, and %s",
		e.Risk, e.Split, e.words(), e.Oracle, known, fixed)
}

// words are those of the ceiling.
func (e *Early) words() string {
	if e.Samples < e.Rows {
		return e.Words("samples") + " (rows that belong together count as one)"
	}
	return e.Words("rows")
}
