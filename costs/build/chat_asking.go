package build

import (
	"context"
	"math"
	"sync"

	"pipe/costs/service"
)

// asking is what the chat models of a build share: answers that are kept, the
// money of this run, the accounts that pay, and what is counted.
type asking struct {
	store    *answerStore
	money    *Budget
	accounts *service.Accounts
	parts    []string // whose answers are counted, in the order they were made
	run      *tally   // of this run: asked, cached, spent
}

// newAsking has any money where there is no budget. note tells the user what is
// waited for.
func newAsking(folder string, money *Budget, note func(format string, args ...any)) *asking {
	if money == nil {
		money = newBudget(math.Inf(1))
	}
	return &asking{store: newAnswerStore(folder), money: money, accounts: service.NewAccounts(note), run: &tally{}}
}

// counted makes the part in the making one whose answers are counted.
func (s *Setup) counted() { s.asking.parts = append(s.asking.parts, s.Part) }

// AnswerCount tells of the answers of one part that asks a chat model: an expert,
// or the reformulator of an advice. Asked, Cached and Spent are of this run; the
// others are of the whole tensor, whichever runs made it.
type AnswerCount struct {
	Part   string  `json:"part"`
	Asked  int64   `json:"asked"`  // answers that were asked for
	Cached int64   `json:"cached"` // answers that were there
	Spent  float64 `json:"spent"`  // money, with what answers may have cost that were lost on their way

	Strict      int64 `json:"strict"`      // answers that are a label and nothing else
	Lenient     int64 `json:"lenient"`     // answers in which one label occurs
	Unparseable int64 `json:"unparseable"` // other answers of an expert
	Queries     int64 `json:"queries"`     // answers of a reformulator that hold one
	Empty       int64 `json:"empty"`       // answers of a reformulator that hold no query

	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Estimated        int64   `json:"estimated"` // answers whose tokens were not counted by the service
	Money            float64 `json:"money"`     // what all answers cost at the prices of the configuration
}

// plus returns the sum of two counts of the same part.
func (c AnswerCount) plus(d AnswerCount) AnswerCount {
	return AnswerCount{
		Part:  c.Part,
		Asked: c.Asked + d.Asked, Cached: c.Cached + d.Cached, Spent: c.Spent + d.Spent,
		Strict: c.Strict + d.Strict, Lenient: c.Lenient + d.Lenient, Unparseable: c.Unparseable + d.Unparseable,
		Queries: c.Queries + d.Queries, Empty: c.Empty + d.Empty,
		PromptTokens: c.PromptTokens + d.PromptTokens, CompletionTokens: c.CompletionTokens + d.CompletionTokens,
		Estimated: c.Estimated + d.Estimated, Money: c.Money + d.Money,
	}
}

// tally counts answers by part. A nil tally counts nothing.
type tally struct {
	mu    sync.Mutex
	parts map[string]AnswerCount
}

func (t *tally) add(part string, c AnswerCount) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil {
		t.parts = make(map[string]AnswerCount)
	}
	c.Part = part
	t.parts[part] = c.plus(t.parts[part])
}

// addAll adds other counts.
func (t *tally) addAll(counts []AnswerCount) {
	for _, c := range counts {
		t.add(c.Part, c)
	}
}

// of returns the counts of parts, in their order.
func (t *tally) of(parts []string) []AnswerCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	var counts []AnswerCount
	for _, part := range parts {
		c := t.parts[part]
		c.Part = part
		counts = append(counts, c)
	}
	return counts
}

type tallyKey struct{}

// withTally lets whoever answers under the context be counted.
func withTally(ctx context.Context, t *tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

func tallyOf(ctx context.Context) *tally {
	t, _ := ctx.Value(tallyKey{}).(*tally)
	return t
}
