package report

import "fmt"

// frontierTable has one line per price and method.
func (r *Report) frontierTable() table {
	t := table{
		title: "Frontier", left: 2, place: onFrontier, folded: true,
		head: []string{"lambda", "method", "all fees", "expert fees", "task loss (95%)", "fees paid (95%)", "true loss", "vs constant (95%)", "regret (95%)", "vs", "pair"},
		caption: "What is lost and what is paid at every price: other lambdas, or all fees times a factor. Task loss is without fees; fees paid, in the unit of the loss, are those of experts, those of advice before " +
			"lambda, and measured ones. True loss is at the price. Vs constant: against best_fixed_train at this price. Regret: against a policy " +
			"that was trained for this lambda alone. Intervals are paired by row.",
	}
	for _, p := range r.Frontier {
		all, factor := "", ""
		if p.Scale != nil {
			all = "x " + Number(p.Scale)
		}
		if p.ExpertFactor != 1 {
			factor = "x " + Number(&p.ExpertFactor)
		}
		t.rows = append(t.rows, []string{
			Number(&p.Lambda), p.Method, all, factor, around(p.Loss, p.LossInterval), around(p.Money, p.MoneyInterval), fmt.Sprintf("%.4f", p.TrueLoss),
			finely(p.DiffConstant), finely(p.Regret), p.Own, p.Pair,
		})
	}
	t.dropEmpty()
	return t
}

// around prints a mean with the ends of its interval, if it has one.
func around(mean float64, v *Interval) string {
	if v == nil {
		return fmt.Sprintf("%.4f", mean)
	}
	return fmt.Sprintf("%.4f [%.4f, %.4f]", mean, v.Low, v.High)
}
