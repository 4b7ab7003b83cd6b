package risk

import (
	"fmt"
	"math"
	"slices"
)

// Decisions are what was decided on the calibration rows at one price.
type Decisions struct {
	Score []float32 // of every row: the estimated loss of what is done
	Loss  []float64 // of every row: the loss of what is done, from 0 to the bound
}

// Rows are the calibration rows.
type Rows struct {
	At      []Decisions // at every price at which the promise has to hold; at least one
	Cluster []int       // of every row: rows with the same number are one sample, numbered from 0
	Binary  bool        // every possible loss is 0 or the bound
}

// Choice is the threshold, and what was seen on the calibration rows.
type Choice struct {
	Threshold float32 // largest score that is accepted; +Inf: all are
	At        []Seen  // by price
}

// Seen is what a threshold does on the calibration rows at one price.
type Seen struct {
	Accepted float64 // share of the rows
	Samples  int     // clusters with an accepted row
	Risk     float64 // mean loss of accepted samples, in units of the loss; NaN: none is accepted
}

// Choose returns the largest of some thresholds that keeps the promise, and false if none does. Thresholds rise strictly. They
// must not depend on the rows: take them from others.
//
// Rows of a cluster are one sample, whose loss is the mean over its accepted rows. The promise of one threshold at several
// prices is tested at each of them, and the threshold passes if all tests pass. That needs no correction for the number of prices:
// if the risk is too high at one of them, the test there alone would have to err.
func Choose(thresholds []float32, rows Rows, s Settings) (Choice, bool, error) {
	if err := errorOf(thresholds, rows, s); err != nil {
		return Choice{}, false, err
	}
	rejected := fixedSequence(len(thresholds), s.starts(), 1-s.Confidence, func(i int, level float64) bool {
		return !slices.ContainsFunc(rows.At, func(d Decisions) bool { return !s.holds(thresholds[i], d, rows, level) })
	})
	for i := len(rejected) - 1; i >= 0; i-- {
		if rejected[i] {
			return Measure(thresholds[i], rows, s), true, nil
		}
	}
	return Choice{}, false, nil
}

// starts are those of the walk. Conformal risk control has one: what it compares rises with the threshold.
func (s Settings) starts() int {
	if s.Method == CRC {
		return 1
	}
	return s.Starts
}

// holds tests a threshold at one price.
func (s Settings) holds(threshold float32, d Decisions, rows Rows, level float64) bool {
	losses, alone := s.losses(threshold, d, rows.Cluster)
	sum, alpha := 0.0, s.Risk/s.Bound
	for _, loss := range losses {
		sum += loss
	}
	switch s.Method {
	case RCPS:
		return betsWin(losses, alpha, level)
	case CRC:
		return conformal(sum, len(losses)) <= alpha
	}
	return hoeffdingBentkus(sum, len(losses), alpha, rows.Binary && alone) <= level
}

// losses are the samples of a threshold, from 0 to 1, in the order of their first rows. alone: none is of several rows.
func (s Settings) losses(threshold float32, d Decisions, cluster []int) (losses []float64, alone bool) {
	clusters := slices.Max(cluster) + 1
	sums, counts := make([]float64, clusters), make([]float64, clusters)
	order := make([]int, 0, clusters)
	alone = true
	for n, c := range cluster {
		accepted := d.Score[n] <= threshold
		if !accepted && s.Method != CRC {
			continue
		}
		if counts[c]++; counts[c] == 1 {
			order = append(order, c)
		} else {
			alone = false
		}
		if accepted {
			sums[c] += d.Loss[n] / s.Bound
		}
	}
	for _, c := range order {
		losses = append(losses, sums[c]/counts[c])
	}
	return losses, alone
}

// Measure is what a threshold does on the calibration rows, without a promise.
func Measure(threshold float32, rows Rows, s Settings) Choice {
	c := Choice{Threshold: threshold}
	s.Method = LTT // what is seen is of accepted decisions
	for _, d := range rows.At {
		losses, _ := s.losses(threshold, d, rows.Cluster)
		seen, sum := Seen{Samples: len(losses)}, 0.0
		for _, score := range d.Score {
			if score <= threshold {
				seen.Accepted++
			}
		}
		seen.Accepted /= float64(len(d.Score))
		for _, loss := range losses {
			sum += loss
		}
		seen.Risk = s.Bound * sum / float64(len(losses))
		c.At = append(c.At, seen)
	}
	return c
}

// Share is the smallest share of accepted rows over all prices.
func (c Choice) Share() float64 {
	share := 1.0
	for _, seen := range c.At {
		share = min(share, seen.Accepted)
	}
	return share
}

// Reach is what a promised risk costs on the calibration rows.
type Reach struct {
	Risk     float64  `json:"risk"`
	Accepted *float64 `json:"accepted"` // largest share of rows that can be accepted under the promise; absent: no threshold keeps it
	Seen     float64  `json:"seen"`     // largest share whose mean loss on these rows is at most Risk, without a promise
}

// Reaches says of several risks how much can be accepted. Those that are not between 0 and the bound are left out.
func Reaches(risks []float64, thresholds []float32, rows Rows, s Settings) ([]Reach, error) {
	var out []Reach
	var measured []Choice
	for _, threshold := range thresholds {
		measured = append(measured, Measure(threshold, rows, s))
	}
	for _, level := range risks {
		if !(level > 0 && level < s.Bound) {
			continue
		}
		at := s
		at.Risk = level
		r := Reach{Risk: level}
		c, ok, err := Choose(thresholds, rows, at)
		if err != nil {
			return nil, err
		}
		if ok {
			share := c.Share()
			r.Accepted = &share
		}
		for _, m := range measured {
			if !slices.ContainsFunc(m.At, func(v Seen) bool { return v.Risk > level }) {
				r.Seen = max(r.Seen, m.Share())
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// LossError says that the loss of a row cannot be used.
type LossError struct {
	Row   int // from 0
	Loss  float64
	Bound float64
}

func (e *LossError) Error() string {
	if math.IsNaN(e.Loss) {
		return "the loss of the chosen pair is not known, and a guarantee needs it"
	}
	return fmt.Sprintf("the loss %g is not from 0 to %g, the largest that is said to be possible", e.Loss, e.Bound)
}

func errorOf(thresholds []float32, rows Rows, s Settings) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(thresholds) == 0 || len(rows.At) == 0 || len(rows.Cluster) == 0 {
		return fmt.Errorf("risk: %d thresholds, %d prices and %d rows", len(thresholds), len(rows.At), len(rows.Cluster))
	}
	for i, v := range thresholds {
		if v != v || i > 0 && v <= thresholds[i-1] {
			return fmt.Errorf("risk: threshold %d, %g, does not rise", i, v)
		}
	}
	for _, d := range rows.At {
		if len(d.Score) != len(rows.Cluster) || len(d.Loss) != len(rows.Cluster) {
			return fmt.Errorf("risk: %d scores and %d losses of %d rows", len(d.Score), len(d.Loss), len(rows.Cluster))
		}
		for n, loss := range d.Loss {
			if !(loss >= 0 && loss <= s.Bound*(1+rounding)) {
				return &LossError{n, loss, s.Bound}
			}
		}
	}
	return nil
}

// Thresholds are those at which a share of 1%, 2%, ... of some scores is accepted, and at last one that accepts all: +Inf. Scores of
// rows that do not calibrate make thresholds for those that do.
func Thresholds(scores []float32) []float32 {
	sorted := slices.Clone(scores)
	slices.Sort(sorted)
	const steps = 100
	out := make([]float32, 0, steps)
	for i := 1; i < steps && len(sorted) > 0; i++ {
		out = append(out, sorted[(len(sorted)*i+steps-1)/steps-1])
	}
	return append(slices.Compact(out), float32(math.Inf(1)))
}
