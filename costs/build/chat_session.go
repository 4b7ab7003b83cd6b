package build

import (
	"context"
	"errors"
	"math"
	"sync"

	"pipe/costs/service"
)

// chatSession is what the chat models of a build share: answers that are kept, the
// money of this run, and what is counted.
type chatSession struct {
	store *answerStore
	money *Budget
	parts []string // whose answers are counted, in the order they were made
	run   *tally   // of this run: asked, cached, spent
}

// newChatSession has any money where there is no budget.
func newChatSession(folder string, money *Budget) *chatSession {
	if money == nil {
		money = newBudget(math.Inf(1))
	}
	return &chatSession{store: newAnswerStore(folder), money: money, run: &tally{}}
}

// Close closes the file of answers.
func (c *chatSession) Close() error { return c.store.Close() }

// shareChatSession opens the session of a build, before any part asks for it.
func shareChatSession(b *Build, folder string, money *Budget) *chatSession {
	c, _ := Shared(b, "", func() (*chatSession, error) { return newChatSession(folder, money), nil })
	return c
}

// chatSessionOf returns the session of a build.
func chatSessionOf(b *Build) (*chatSession, error) {
	return Shared(b, "", func() (*chatSession, error) { return nil, errors.New("the build has no folder of answers") })
}

// accountsOf returns the accounts that the services of a build are paid from.
func accountsOf(b *Build) *service.Accounts {
	a, _ := Shared(b, "", func() (*service.Accounts, error) { return service.NewAccounts(b.Progress.Note), nil })
	return a
}

// countAnswers makes a part one whose answers are counted.
func countAnswers(s *Setup) error {
	c, err := chatSessionOf(s.Build)
	if err != nil {
		return err
	}
	c.parts = append(c.parts, s.Part)
	return nil
}

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
