package report

import (
	"slices"
	"strconv"
	"strings"

	"pipe/internal/safetext"
)

// verdictTable has one line per lambda and constant that the recommendation is compared with.
func (r *Report) verdictTable() table {
	t := table{
		title: "Verdict", left: 4, place: onVerdict, caption: r.verdictCaption(),
		head: []string{"lambda", "deploy", "against", "which is", "its cost", "saved (95%)", "saved %", "saved per 1,000", "task loss saved", "fees saved" + r.moneyUnit()},
	}
	for _, v := range r.Verdict {
		for _, s := range v.Savings {
			t.rows = append(t.rows, s.cells(v, v.chosen()))
		}
		for _, s := range v.PolicySavings {
			t.rows = append(t.rows, s.cells(v, "("+v.Policy+")"))
		}
		if len(v.Savings)+len(v.PolicySavings) == 0 {
			t.rows = append(t.rows, append([]string{fixed(v.Lambda, -1), v.chosen()}, make([]string, len(t.head)-2)...))
		}
	}
	t.dropEmpty()
	return t
}

// chosen is what the verdict recommends.
func (v *Verdict) chosen() string {
	switch v.Deploy {
	case DeployPolicy:
		return v.Policy
	case DeployConstant:
		return v.Pair
	}
	return ""
}

func (s *Saving) cells(v Verdict, deploy string) []string {
	share := ""
	if s.Share != nil {
		share = percents(*s.Share)
	}
	return []string{
		fixed(v.Lambda, -1), deploy, s.Pair, strings.Join(s.Against, ", "), PlusMinus(&s.Reference, nil),
		Amount(s.Cost), share, Amount(s.Cost.times(1000)), Amount(s.Loss), Amount(s.Money),
	}
}

// moneyUnit names the currency of the column of fees.
func (r *Report) moneyUnit() string {
	if r.Money == nil {
		return ""
	}
	return ", " + r.Money.Currency
}

func (r *Report) verdictCaption() string {
	text := "Saved: mean cost of the constant minus that of what is deployed, per request; positive is better. In brackets: a policy that is not recommended."
	if r.Money == nil {
		return text + " Fees saved are in the unit of the table's fees, those of advice before lambda: no value in money is known."
	}
	return text + " Fees saved are what is paid, those of advice before lambda; a loss of 1 is worth " + fixed(r.Money.PerLoss, -1) + " " + r.Money.Currency + "."
}

// expertUseTable has one line per expert that the recommendation uses.
func (r *Report) expertUseTable() table {
	t := table{
		title: "What each expert gets", left: 3, place: onUse, caption: "By what is deployed: the share of the rows, their mean task loss, and the mean fees paid for them.",
		head: []string{"lambda", "deploy", "expert", "rows %", "task loss", "fees" + r.moneyUnit()},
	}
	for _, v := range r.Verdict {
		for _, x := range v.Experts {
			t.rows = append(t.rows, []string{fixed(v.Lambda, -1), v.chosen(), x.Expert, percent(&x.Share), PlusMinus(&x.Loss, nil), fixed(x.Money, 4)})
		}
	}
	return t
}

// sentences are the verdicts, what is said of cascades and of more rows, safe for a line.
func (r *Report) sentences() []string {
	var out []string
	for _, v := range r.Verdicts() {
		out = append(out, safetext.Line(v.Sentence))
	}
	for _, c := range r.cascades() {
		out = append(out, safetext.Line(c.Sentence))
	}
	for _, l := range r.taught() {
		out = append(out, safetext.Line(l.Sentence))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// learningTable has one line per number of training rows.
func (r *Report) learningTable() table {
	t := table{
		title: "Learning curve", left: 2, place: onLearning, head: []string{"lambda", "method", "training rows", "policies", "cost (95%)"},
		caption: "Cost on the reported rows of policies that learned from some of the training rows, with the method named here: " +
			"a cheaper one than that of the policies above.",
	}
	for _, l := range r.Learning {
		for _, p := range l.Points {
			t.rows = append(t.rows, []string{fixed(l.Lambda, -1), l.Method, strconv.Itoa(p.Rows), strconv.Itoa(p.Draws), Amount(p.Cost)})
		}
	}
	return t
}
