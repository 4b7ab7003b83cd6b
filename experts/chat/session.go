package chat

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/experts/builder/part"
	"pipe/experts/service"
	"pipe/internal/storage"
)

// Session is shared by the chat models of a build: stored answers, the budget
// of this run, accounts at services, and counts.
type Session struct {
	store    *answerStore
	money    *Budget
	accounts *service.Accounts
	parts    []string // parts whose answers are counted, in the order of construction
	run      *Tally   // of this run: asked, cached, spent

	limits map[string]Limits     // of the parts that ask a service
	priced map[string]ModelPrice // of those whose tokens have a price
	times  requestTimes          // of this run
}

// OpenSession opens the session of a build, which shares it with its chat
// models and closes it. Answers are stored in a folder, which is made for the
// first answer. A nil budget is unlimited.
func OpenSession(b *part.Build, folder string, money *Budget) *Session {
	if money == nil {
		money = newBudget(math.Inf(1))
	}
	q := &Session{store: newAnswerStore(folder), money: money, accounts: service.AccountsOf(b), run: &Tally{}, limits: make(map[string]Limits), priced: make(map[string]ModelPrice)}
	q, _ = part.Shared(b, "", func() (*Session, error) { return q, nil })
	return q
}

// Share has the session work with those of other workers, which reach the folder: answers are kept there, an object
// each, one worker asks while others wait, until it has given no sign of life for the lease (0: 20 s), and every worker takes
// its share of the limits of services. It is called before parts are made.
func (q *Session) Share(answers *storage.Folder, workers int, lease time.Duration) {
	q.store.shared = newSharedAnswers(answers, lease)
	q.accounts.Share(workers)
}

// sessionOf returns the session of a build.
func sessionOf(b *part.Build) (*Session, error) {
	return part.Shared(b, "", func() (*Session, error) {
		return nil, errors.New("asks a chat model, but the build has no session for chat models")
	})
}

// Close releases the folder of answers, and what is claimed there.
func (q *Session) Close() error { return q.store.Close() }

// CountAnswers registers a part whose answers are counted. It is an error if the build has no session.
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

// Run returns the counts and the money of this run, per part.
func (q *Session) Run() []AnswerCount { return q.run.Of(q.parts) }

// Limits are the limits of a part that asks a service.
type Limits struct {
	Account           string  // equal for parts that share the limits on requests and tokens
	Concurrency       int     // requests of the part in flight
	RequestsPerSecond float64 // of the account; 0: no limit
	TokensPerMinute   float64 // of the account; 0: no limit
	Priced            bool    // its tokens have a price
}

// Limits returns the limits of a part; ok is false for one that asks no service.
func (q *Session) Limits(part string) (l Limits, ok bool) {
	l, ok = q.limits[part]
	for _, other := range q.limits {
		if other.Account == l.Account {
			l.RequestsPerSecond = strictest(l.RequestsPerSecond, other.RequestsPerSecond)
			l.TokensPerMinute = strictest(l.TokensPerMinute, other.TokensPerMinute)
		}
	}
	return l, ok
}

// ModelPrice is what the tokens of a part cost.
type ModelPrice struct {
	Model  string // its name at the service
	Period prices.Period
	Money  costs.Money // what a loss of 1 is worth; without Currency if the settings do not say it
}

// Price returns what the tokens of a part cost; ok is false if they have no price.
func (q *Session) Price(part string) (p ModelPrice, ok bool) {
	p, ok = q.priced[part]
	return p, ok
}

// strictest returns the smaller of two limits, of which 0 is none.
func strictest(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// requestTimes are the times of requests that were answered, by part.
type requestTimes struct {
	mu    sync.Mutex
	count map[string]int
	total map[string]time.Duration
}

func (r *requestTimes) add(part string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count, r.total = make(map[string]int), make(map[string]time.Duration)
	}
	r.count[part]++
	r.total[part] += took
}

// RequestSeconds is the mean time of the requests of a part that were answered in this run, 0 if there are none.
func (q *Session) RequestSeconds(part string) float64 {
	q.times.mu.Lock()
	defer q.times.mu.Unlock()
	return q.times.total[part].Seconds() / float64(max(1, q.times.count[part]))
}
