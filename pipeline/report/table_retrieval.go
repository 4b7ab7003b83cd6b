package report

import (
	"fmt"
	"strings"
)

// recallTable has one line per way to search and number of passages.
func (r *Report) recallTable() table {
	t := table{
		title: "Recall of gold pages", left: 1, head: []string{"advice", "best", "any page", "all pages of a set"},
	}
	var counts []string
	for _, q := range r.Retrieval {
		name := strings.Join(q.Advice, ", ")
		counts = append(counts, fmt.Sprintf("%s: of %d claims %d have evidence, %d a gold page and %d all pages of an evidence set among the pages",
			name, q.Instances, q.Gold, q.Inside, q.Whole))
		for _, at := range q.At {
			t.rows = append(t.rows, []string{name, fmt.Sprint(at.K), PlusMinus(Num(at.Any), nil), PlusMinus(Num(at.Full), nil)})
		}
	}
	t.caption = "Share of the claims whose evidence is among the pages at all. " + strings.Join(counts, "; ") + "."
	return t
}
