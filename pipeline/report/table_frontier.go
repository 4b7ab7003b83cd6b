package report

import (
	"fmt"

	"pipe/costs"
)

// frontierTable has one line per price and method.
func (r *Report) frontierTable() table {
	t := table{
		title: "Frontier", left: 2, place: onFrontier, folded: true,
		head: []string{"lambda", "method", "all fees", "expert fees", "task loss (95%)", "fees paid (95%)", "true loss", "vs constant (95%)", "regret (95%)", "vs", "pair"},
		caption: "What is lost and what is paid at every price: other lambdas, or all fees times a factor. Task loss is without fees; fees paid, in the unit of the loss, are those of experts, those of advice before " +
			"lambda, and measured ones. True loss is at the price. Vs constant: against best_fixed_train at this price. Regret: against a policy " +
			"that was trained for this lambda alone; of a cascade without such a one, against what decides once. Intervals are paired by row.",
	}
	most := mostExecuted(r.Frontier)
	t.head = append(t.head, executedHead(most)...)
	for _, p := range r.Frontier {
		all, factor := "", ""
		if p.Scale != nil {
			all = "x " + Number(p.Scale)
		}
		if p.ExpertFactor != 1 {
			factor = "x " + Number(&p.ExpertFactor)
		}
		t.rows = append(t.rows, append([]string{
			Number(&p.Lambda), p.Method, all, factor, around(p.Loss, p.LossInterval), around(p.Money, p.MoneyInterval), fmt.Sprintf("%.4f", p.TrueLoss),
			finely(p.DiffConstant), finely(p.Regret), p.Own, p.Pair,
		}, executedCells(p.Share, most)...))
	}
	t.dropEmpty()
	return t
}

// executedHead are the columns of the shares of the rows on which 1, 2, ... pairs were executed.
func executedHead(most int) (head []string) {
	for n := range most {
		head = append(head, fmt.Sprintf("%d executed %%", n+1))
	}
	return head
}

// executedCells are the cells of these columns, empty beyond the shares.
func executedCells(share []float64, most int) []string {
	cells := make([]string, most)
	for n := range share {
		cells[n] = percent(&share[n])
	}
	return cells
}

// around prints a mean with the ends of its interval, if it has one.
func around(mean float64, v *Interval) string {
	if v == nil {
		return fmt.Sprintf("%.4f", mean)
	}
	return fmt.Sprintf("%.4f [%.4f, %.4f]", mean, v.Low, v.High)
}

func (r *Report) cascadeTables() []table {
	if len(r.Cascades) == 0 {
		return nil
	}
	return []table{r.cascadeTable(), r.cascadePairTable()}
}

// cascadeTable has a line for every cascade, and for each of what it is compared with.
func (r *Report) cascadeTable() table {
	t := table{
		title: "Cascades", left: 2, place: onCascades, head: []string{"lambda", "what", "true loss", "task loss (95%)", "fees paid (95%)" + r.moneyUnit(), "cascade minus this (95%)"},
		caption: "A cascade executes a pair, looks at its answer, and accepts it or executes another one. The fees of all executed pairs are paid, those of advice before lambda" + worth(r.Money) +
			"; true loss is the task loss of the accepted answer plus these fees, those of advice times lambda. In brackets: what decides once. The oracle is the cheapest pair of every row.",
	}
	most := 0
	for _, c := range r.Cascades {
		most = max(most, len(c.Share))
	}
	t.head = append(t.head, executedHead(most)...)
	for _, c := range r.Cascades {
		line := append(c.Paid.cells(fixed(c.Lambda, -1), c.Policy, r.Money), "")
		t.rows = append(t.rows, append(line, executedCells(c.Share, most)...))
		for _, o := range c.Others {
			line := append(o.Paid.cells(fixed(c.Lambda, -1), "("+o.Name+")", r.Money), finely(o.Diff))
			t.rows = append(t.rows, append(line, make([]string, most)...))
		}
	}
	t.dropEmpty()
	return t
}

func worth(m *costs.Money) string {
	if m == nil {
		return ", in the unit of the table"
	}
	return ", where a loss of 1 is worth " + fixed(m.PerLoss, -1) + " " + m.Currency
}

func (p CascadePaid) cells(lambda, name string, m *costs.Money) []string {
	money, ends := p.Money, p.MoneyInterval
	if m != nil {
		money *= m.PerLoss
		if ends != nil {
			ends = new(ends.times(m.PerLoss))
		}
	}
	return []string{lambda, name, fmt.Sprintf("%.4f", p.TrueLoss), around(p.Loss, p.LossInterval), around(money, ends)}
}

// cascadePairTable says what cascades do with every pair.
func (r *Report) cascadePairTable() table {
	t := table{
		title: "What cascades do with each pair", left: 3, place: onCascades, folded: true,
		caption: "Shares of the rows: on how many the pair is executed first, executed at all, and its answer accepted; and the mean task loss of the accepted answers.",
		head:    []string{"lambda", "cascade", "pair", "first %", "executed %", "accepted %", "task loss"},
	}
	for _, c := range r.Cascades {
		for _, p := range c.Pairs {
			t.rows = append(t.rows, []string{fixed(c.Lambda, -1), c.Policy, p.Pair, percent(&p.First), percent(&p.Executed), percent(&p.Accepted), PlusMinus(p.Loss, nil)})
		}
	}
	return t
}
