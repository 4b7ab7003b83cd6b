package report

import (
	"fmt"
	"strconv"
)

// calibrationTable has one line per policy and lambda.
func (r *Report) calibrationTable() table {
	t := table{
		title: "Calibration", left: 1,
		head: []string{"policy", "calibration error", "lambda", "expected, chosen", "true, chosen", "true minus expected (95%)"},
		caption: "How well the losses that a policy expects agree with those that came true on the reported rows, without the fees of experts and advice. " +
			"The calibration error is over all pairs. Chosen: mean over the pairs that the policy took, one per row. A pair is taken because its " +
			"estimate is low, so the losses of chosen pairs are often higher than expected. Intervals are paired by row.",
	}
	for _, p := range r.Calibration {
		for _, c := range p.Chosen {
			t.rows = append(t.rows, append([]string{p.Policy, fmt.Sprintf("%.4f", p.Error), Number(&c.Lambda)}, c.cells()...))
		}
	}
	t.dropEmpty()
	return t
}

// calibrationPairTable has one line per policy and pair.
func (r *Report) calibrationPairTable() table {
	t := table{
		title: "Calibration by pair", left: 2,
		head:    []string{"policy", "pair", "expected", "true", "true minus expected (95%)", "calibration error"},
		caption: "Means over all reported rows, whether the pair was chosen or not.",
	}
	for _, p := range r.Calibration {
		for _, c := range p.Pairs {
			t.rows = append(t.rows, append(append([]string{p.Policy, c.Pair}, c.cells()...), fmt.Sprintf("%.4f", c.Error)))
		}
	}
	t.dropEmpty()
	return t
}

// cells are the means, and the interval of their difference.
func (m CalibrationMeans) cells() []string {
	return []string{fmt.Sprintf("%.4f", m.Estimate), fmt.Sprintf("%.4f", m.Loss), finely(m.Diff)}
}

// reliabilityTable has two lines per policy and a column per bin.
func (r *Report) reliabilityTable() table {
	t := table{
		title: "Reliability", left: 2, head: []string{"policy", "bin"},
		caption: "All estimates of a policy in ascending order, in bins with the same number of estimates: the mean expected loss of each bin, and the mean true loss below it.",
	}
	most := 0
	for _, p := range r.Calibration {
		most = max(most, len(p.Bins))
	}
	for i := range most {
		t.head = append(t.head, strconv.Itoa(i))
	}
	for _, p := range r.Calibration {
		expected, came := []string{p.Policy, "expected"}, []string{p.Policy, "true"}
		for i := range most {
			if i >= len(p.Bins) {
				expected, came = append(expected, ""), append(came, "")
				continue
			}
			expected, came = append(expected, fmt.Sprintf("%.4f", p.Bins[i].Estimate)), append(came, fmt.Sprintf("%.4f", p.Bins[i].Loss))
		}
		t.rows = append(t.rows, expected, came)
	}
	return t
}
