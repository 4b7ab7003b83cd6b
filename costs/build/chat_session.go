package build

import (
	"errors"
	"math"
	"slices"

	"pipe/costs/builder/part"
	"pipe/costs/service"
)

// chatSession is what the chat models of a build share: answers that are kept, the
// money of this run, the accounts that pay, and what is counted.
type chatSession struct {
	store    *answerStore
	money    *Budget
	accounts *service.Accounts
	parts    []string // whose answers are counted, in the order they were made
	run      *tally   // of this run: asked, cached, spent
}

// openChatSession opens the session of a build, which its chat models find there and
// which it closes. Answers are kept in a folder, which is made when the first answer
// is wanted; a build without a budget, nil, spends any money.
func openChatSession(b *part.Build, folder string, money *Budget) *chatSession {
	if money == nil {
		money = newBudget(math.Inf(1))
	}
	q := &chatSession{store: newAnswerStore(folder), money: money, accounts: service.AccountsOf(b), run: &tally{}}
	q, _ = part.Shared(b, "", func() (*chatSession, error) { return q, nil })
	return q
}

// sessionOf returns the session of a build.
func sessionOf(b *part.Build) (*chatSession, error) {
	return part.Shared(b, "", func() (*chatSession, error) {
		return nil, errors.New("asks a chat model, and the build has no session for them")
	})
}

// Close gives the folder of answers back.
func (q *chatSession) Close() error { return q.store.Close() }

// countAnswers makes the part one whose answers are counted.
func countAnswers(s *part.Setup) error {
	q, err := sessionOf(s.Build)
	if err == nil {
		q.parts = append(q.parts, s.Part)
	}
	return err
}

// Parts returns the parts whose answers are counted, in the order in which they were
// made.
func (q *chatSession) Parts() []string { return slices.Clone(q.parts) }

// Run returns what this run asked, found kept and spent, part by part.
func (q *chatSession) Run() []AnswerCount { return q.run.of(q.parts) }
