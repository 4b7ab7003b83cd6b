package report

import (
	"fmt"
	"strconv"
)

// answerTable has one line per part that uses a chat model.
func (r *Report) answerTable() table {
	t := table{
		title: "Answers of chat models", left: 1,
		head: []string{
			"part", "answers", "strict %", "lenient %", "unparseable %", "queries %", "empty %", "prompt tokens", "answer tokens", "estimated", "money",
		},
		caption: "Strict: a label and nothing else; lenient: one label occurs. Tokens of estimated answers are counted from their characters.",
	}
	for _, a := range r.Answers {
		share := func(n int64) string {
			if n == 0 {
				return ""
			}
			return percent(Num(float64(n) / float64(a.Answers)))
		}
		cells := []string{a.Part, strconv.FormatInt(a.Answers, 10)}
		for _, n := range []int64{a.Strict, a.Lenient, a.Unparseable, a.Queries, a.Empty} {
			cells = append(cells, share(n))
		}
		cells = append(cells, fmt.Sprint(a.PromptTokens), fmt.Sprint(a.CompletionTokens), positive(int(a.Estimated)), "")
		if a.Money > 0 {
			cells[len(cells)-1] = fmt.Sprintf("%.4f", a.Money)
		}
		t.rows = append(t.rows, cells)
	}
	t.dropEmpty()
	return t
}
