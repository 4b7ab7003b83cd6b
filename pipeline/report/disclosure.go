package report

import (
	"fmt"
)

// Disclosure tells, for one method in one regime, how often a sensitive group of columns was opened and what that was
// worth. Shares lie in [0, 1], worths are in the unit of the task loss.
type Disclosure struct {
	Setting string  `json:"setting,omitempty"`
	Method  string  `json:"method"`
	Lambda  float64 `json:"lambda"`
	Group   string  `json:"group"`
	Opened  float64 `json:"opened"` // share of the rows whose advice opened the group
	// Over the rows that were opened: the same expert at the deepest level that keeps the group closed, minus the chosen
	// pair. Gross counts task loss only, net the fees too; negative: it was not worth it. Absent if nothing was opened.
	Gross    *float64 `json:"gross,omitempty"`
	Net      *float64 `json:"net,omitempty"`
	TrueLoss float64  `json:"true_loss"`
	// True loss if the group could never be opened: the same policy choosing among the remaining pairs by its scores.
	// Absent where no pair remains.
	Without *float64 `json:"true_loss_without,omitempty"`
}

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
