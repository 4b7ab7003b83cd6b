package report

import (
	"fmt"
)

// disclosureTable has one line per lambda, method and group.
func (r *Report) disclosureTable() table {
	t := table{
		title: "Disclosure", left: 3,
		head: []string{"lambda", "method", "group", "opened %", "worth, gross", "worth, net", "true loss", "never opened"},
		caption: "Share of rows for which a group was opened. Worth: over those rows, what the same expert costs at the deepest level that " +
			"keeps the group closed minus what the chosen pair costs, in task loss (gross) and with fees (net). Never opened: the true loss if " +
			"the same policy had to choose among the other pairs.",
	}
	for _, d := range r.Disclosure {
		t.rows = append(t.rows, []string{
			Number(&d.Lambda), d.Method, d.Group, percent(&d.Opened), signed(d.Gross), signed(d.Net),
			fmt.Sprintf("%.3f", d.TrueLoss), PlusMinus(d.Without, nil),
		})
	}
	return t
}
