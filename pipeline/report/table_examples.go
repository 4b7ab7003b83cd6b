package report

import (
	"fmt"
	"strings"
)

var exampleTitles = map[string]string{
	Won:        "Rows that %s wins most: lambda %s",
	Lost:       "Rows that %s loses most: lambda %s",
	Surprising: "Rows where %s expected a low loss and failed: lambda %s",
}

// title says what the rows are.
func (e *Examples) title() string {
	title, known := exampleTitles[e.Kind]
	if !known {
		title = "Rows of %s: lambda %s"
	}
	return fmt.Sprintf(title, e.Policy, fixed(e.Lambda, -1))
}

func (e *Examples) table() table {
	t := table{
		title: e.title(), left: 4, long: "text", place: onExamples,
		head:    []string{"id", "label", "chosen", "answer", "loss", "fee", "expected loss", e.Pair, "its loss", "its fee", "saved", "text"},
		caption: fmt.Sprintf("%d of %d such rows, compared with always calling %s.", len(e.Shown), e.Rows, e.Pair),
	}
	for _, x := range e.Shown {
		t.rows = append(t.rows, []string{
			x.ID, x.Label, x.Policy.Pair, x.Policy.Answer, fixed(x.Policy.Loss, 3), fixed(x.Policy.Fee, 4), PlusMinus(x.Expected, nil),
			x.Constant.Answer, fixed(x.Constant.Loss, 3), fixed(x.Constant.Fee, 4), fixed(x.Saved, 4), strings.Join(strings.Fields(x.Text), " "),
		})
	}
	t.dropEmptyFrom(1)
	return t
}
