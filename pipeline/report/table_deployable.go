package report

import (
	"slices"
)

// deployableTable is for one setting. It has no lines if no constant is reported beside the policies, because the main
// table marks the best policy.
func (r *Report) deployableTable() table {
	t := table{
		title: "What could be deployed", left: 2,
		caption: "The policy with the lowest true loss, and the constant chosen on training rows, which needs no file. " +
			"Random controls, knn and oracles are for comparison: there is no file of them.",
		head: []string{"lambda", "policy", "true loss", "constant", "pair", "true loss", "policy minus constant"},
	}
	all := r.deployable()
	if !slices.ContainsFunc(all, func(d Deployable) bool { return d.Constant != "" }) {
		return t
	}
	for _, d := range all {
		var gain *float64
		if d.PolicyLoss != nil && d.ConstantLoss != nil {
			gain = Num(*d.PolicyLoss - *d.ConstantLoss)
		}
		t.rows = append(t.rows, []string{Number(d.Lambda), d.Policy, PlusMinus(d.PolicyLoss, nil), d.Constant, d.Pair, PlusMinus(d.ConstantLoss, nil), signed(gain)})
	}
	return t
}
