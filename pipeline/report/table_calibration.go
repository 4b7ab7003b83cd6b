package report

import (
	"fmt"
	"strconv"
)

// calibrationTable has one line per policy and lambda.
func (r *Report) calibrationTable() table {
	t := table{
		title: "Calibration", left: 1, place: onCalibration,
		head: []string{"policy", "calibration error", "lambda", "expected, chosen", "observed, chosen", "observed minus expected (95%)"},
		caption: "How well the losses that a policy expects agree with those observed on the reported rows, both without the fees of experts and advice. " +
			"The calibration error is over all pairs; on few rows it is above 0 even for the true means. Chosen: mean over the pairs that the policy took, one per row. A pair is taken because its " +
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
		title: "Calibration by pair", left: 2, place: onCalibration, folded: true,
		head:    []string{"policy", "pair", "expected", "observed", "observed minus expected (95%)", "calibration error"},
		caption: "Means over all reported rows, whether the pair was chosen or not. A policy with the estimates of an earlier one is left out.",
	}
	for _, p := range differing(r.Calibration) {
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
		title: "Reliability", left: 2, place: onCalibration, folded: true, head: []string{"policy", "bin"},
		caption: "All estimates of a policy in ascending order, in bins with the same number of estimates: the mean expected loss of each bin, and the mean observed loss below it.",
	}
	policies, most := differing(r.Calibration), 0
	for _, p := range policies {
		most = max(most, len(p.Bins))
	}
	for i := range most {
		t.head = append(t.head, strconv.Itoa(i))
	}
	for _, p := range policies {
		expected, observed := []string{p.Policy, "expected"}, []string{p.Policy, "observed"}
		for i := range most {
			if i >= len(p.Bins) {
				expected, observed = append(expected, ""), append(observed, "")
				continue
			}
			expected, observed = append(expected, fmt.Sprintf("%.4f", p.Bins[i].Estimate)), append(observed, fmt.Sprintf("%.4f", p.Bins[i].Loss))
		}
		t.rows = append(t.rows, expected, observed)
	}
	return t
}
