package bench

import (
	"math"

	"pipe/costs"
	"pipe/models"
	"pipe/pipeline/report"
)

// heldCosts are, per split, what a method costs on every held-out row: task loss and fees, averaged over its runs.
type heldCosts [][]float64

// costsOf are the costs of one split.
func (x *tableSplit) costsOf(d *decisions) []float64 {
	out := make([]float64, len(x.held))
	for i, n := range x.held {
		for _, run := range d.Runs {
			out[i] += x.t.Cost(n, run[i], x.c.Lambda)
		}
		out[i] /= float64(len(d.Runs))
	}
	return out
}

// adviceRate is the share of held-out rows on which advice is bought.
func (x *tableSplit) adviceRate(d *decisions) float64 {
	bought := 0
	for _, run := range d.Runs {
		for _, i := range run {
			if _, k := x.t.Actions.Pair(i); k > 0 {
				bought++
			}
		}
	}
	return float64(bought) / float64(len(d.Runs)*len(x.held))
}

// mean is over all held-out rows of all splits.
func (h heldCosts) mean() float64 {
	sum, rows := 0.0, 0
	for _, split := range h {
		for _, c := range split {
			sum += c
		}
		rows += len(split)
	}
	return sum / float64(rows)
}

// standardError is that of the mean over splits, as if they were independent; nil for one split.
func (h heldCosts) standardError() *float64 {
	if len(h) < 2 {
		return nil
	}
	var means []float64
	for _, split := range h {
		means = append(means, average(split))
	}
	_, se := standardError(means)
	return report.Num(se)
}

// intervalLevel is the coverage of the intervals of paired differences.
const intervalLevel = 0.95

// pairedInterval is the mean over rows and splits of a minus b, paired by row and split, with its interval. rows are the
// held-out rows of every split. All differences of one row, whatever the split, and of the rows that belong with it are
// one cluster, and clusters are left out one at a time. It is nil if there are fewer than two clusters.
func pairedInterval(a, b heldCosts, rows [][]int, together costs.Clusters) (*report.Interval, error) {
	var differences []float64
	var clusters []int
	for s, split := range rows {
		for i, n := range split {
			differences = append(differences, a[s][i]-b[s][i])
			clusters = append(clusters, together.Of[n])
		}
	}
	mean, low, err := models.GainLowerBound(differences, clusters, (1+intervalLevel)/2)
	if err != nil || math.IsInf(low, 0) {
		return nil, err
	}
	return &report.Interval{Mean: mean, Low: low, High: 2*mean - low}, nil
}

// gapShare is the share of the way from the constant to the oracle: 0 for the constant, 1 for the oracle. It is nil if
// both cost the same.
func gapShare(loss, constant, oracle float64) *float64 {
	if !(constant > oracle) {
		return nil
	}
	return report.Num((constant - loss) / (constant - oracle))
}

// sumRows adds the rows of one method on several tables, which are independent: squares of errors add. Shares of
// the gap are set by the caller.
func sumRows(rows []report.Row) report.Row {
	sum := report.Row{Method: rows[0].Method, Lambda: rows[0].Lambda, Splits: rows[0].Splits}
	squares, errors, seconds, timed := 0.0, 0, 0.0, 0
	difference, half, paired := 0.0, 0.0, 0
	for _, r := range rows {
		sum.TrueLossMean += r.TrueLossMean
		if r.Seconds != nil {
			seconds += *r.Seconds
			timed++
		}
		if r.TrueLossSE != nil {
			squares += *r.TrueLossSE * *r.TrueLossSE
			errors++
		}
		if d := r.DiffAuto; d != nil {
			difference += d.Mean
			half += (d.High - d.Mean) * (d.High - d.Mean)
			paired++
		}
	}
	if timed == len(rows) {
		sum.Seconds = report.Num(seconds)
	}
	if errors == len(rows) {
		sum.TrueLossSE = report.Num(math.Sqrt(squares))
	}
	if paired == len(rows) {
		half = math.Sqrt(half)
		sum.DiffAuto = &report.Interval{Mean: difference, Low: difference - half, High: difference + half}
	}
	return sum
}
