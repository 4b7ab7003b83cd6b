package report

import "strconv"

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
