package chat

import (
	"errors"
	"math"
	"slices"

	"pipe/costs/builder/part"
	"pipe/costs/service"
)

// Session is what the chat models of a build share: answers that are kept, the
// money of this run, the accounts that pay, and what is counted.
type Session struct {
	store    *answerStore
	money    *Budget
	accounts *service.Accounts
	parts    []string // whose answers are counted, in the order they were made
	run      *Tally   // of this run: asked, cached, spent
}

// OpenSession opens the session of a build, which its chat models find there and
// which it closes. Answers are kept in a folder, which is made when the first answer
// is wanted; a build without a budget, nil, spends any money.
func OpenSession(b *part.Build, folder string, money *Budget) *Session {
	if money == nil {
		money = newBudget(math.Inf(1))
	}
	q := &Session{store: newAnswerStore(folder), money: money, accounts: service.AccountsOf(b), run: &Tally{}}
	q, _ = part.Shared(b, "", func() (*Session, error) { return q, nil })
	return q
}

// sessionOf returns the session of a build.
func sessionOf(b *part.Build) (*Session, error) {
	return part.Shared(b, "", func() (*Session, error) {
		return nil, errors.New("asks a chat model, and the build has no session for them")
	})
}

// Close gives the folder of answers back.
func (q *Session) Close() error { return q.store.Close() }

// CountAnswers makes a part one whose answers are counted. It is an error if the build has
// no session.
func CountAnswers(s *part.Setup) error {
	q, err := sessionOf(s.Build)
	if err == nil {
		q.parts = append(q.parts, s.Part)
	}
	return err
}

// Parts returns the parts whose answers are counted, in the order in which they were
// made.
func (q *Session) Parts() []string { return slices.Clone(q.parts) }

// Run returns what this run asked, found kept and spent, part by part.
func (q *Session) Run() []AnswerCount { return q.run.Of(q.parts) }
