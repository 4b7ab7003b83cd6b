package report

import (
	"fmt"
	"strconv"
)

// AnswerQuality tells how the answers of one part that asks a chat model could be read, and what they cost: those that
// the costs are made of, whether this run asked for them or an earlier one.
type AnswerQuality struct {
	Setting          string  `json:"setting,omitempty"`
	Part             string  `json:"part"`
	Answers          int64   `json:"answers"`
	Strict           int64   `json:"strict"`      // a label and nothing else
	Lenient          int64   `json:"lenient"`     // one label occurs
	Unparseable      int64   `json:"unparseable"` // other answers of an expert
	Queries          int64   `json:"queries"`     // answers of a reformulator that hold one
	Empty            int64   `json:"empty"`       // answers of a reformulator that hold no query: the claim is searched for
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Estimated        int64   `json:"estimated,omitempty"` // answers whose tokens the service did not count
	Money            float64 `json:"money"`               // at the prices of the configuration
}

// answerTable has one line per part that asks a chat model.
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
