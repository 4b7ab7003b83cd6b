package queue

import (
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/internal/filelock"
)

// Settings bound a queue.
type Settings struct {
	Most      int           // items that are not finished
	Keep      time.Duration // how long finished items are kept
	KeepItems int           // most finished items that are kept; the oldest go first
}

// Queue has the items. Its methods need its lock, which a change lets go of while the disk works: others look at the queue as it was
// then. One change is made at a time.
type Queue struct {
	Settings Settings
	// Sync puts the file of the journal on disk. Tests make it slow, or let it fail.
	Sync func(*os.File) error

	state
	held    sync.Locker    // the lock
	file    *os.File       // the journal, open for appending; nil: in memory only
	folder  *filelock.Lock // of the folder
	path    string
	size    int64  // of the journal
	least   int64  // its size after it was last replaced
	sum     uint32 // of its last line
	failure error  // of the disk: what the journal has is not known, so nothing changes any more
}

// state is what the journal says.
type state struct {
	items   map[string]*Item
	waiting []*Item                             // not finished, in the order in which they were put
	done    []*Item                             // finished, in the order of their end
	keys    map[[2]string]string                // ids by caller and key
	used    map[string]map[string]time.Duration // by person and day
	times   map[string]Times                    // by expert
	debt    map[string]float64                  // by expert: seconds of work that was sent and has not fallen due; replaced, not changed
	debtAt  time.Time                           // when that was so
}

// Times says how long the answers of an expert took. Later answers weigh more.
type Times struct {
	Answers float64 `json:"answers"` // sum of the weights
	Seconds float64 `json:"seconds"` // weighted sum
}

// forget is the weight that an answer loses with each later one: the last hundred or so count.
const forget = 0.99

// Refusal is why a change is not made. An error of the disk is another one.
type Refusal struct{ Code, Msg string }

func (r *Refusal) Error() string { return r.Msg }

// The refusals.
var (
	ErrUnknown = &Refusal{"not_found", "there is no such item; finished ones are kept for a while only"}
	ErrFull    = &Refusal{"full", "the queue is full"}
	ErrKey     = &Refusal{"key", "the same key was used for another item"}
	ErrClaimed = &Refusal{"claimed", "another person has the item"}
	ErrHolding = &Refusal{"holding", "this person has another item: answer it or give it back first"}
	ErrDone    = &Refusal{"done", "the item is answered or withdrawn already"}
	ErrLease   = &Refusal{"lease", "the claim has ended, and the item is open again: claim it again"}
)

// Get returns an item.
func (q *Queue) Get(id string) (*Item, error) {
	if i := q.items[id]; i != nil {
		return i, nil
	}
	return nil, ErrUnknown
}

// Waiting returns the items that are not finished, the oldest first. The caller must not change the list, nor use it without the lock.
func (q *Queue) Waiting() []*Item { return q.waiting }

// Done returns the finished items that are kept, the oldest first, under the conditions of Waiting.
func (q *Queue) Done() []*Item { return q.done }

// Used is the time that a person has used of a day. A claim counts as the whole time that it can last.
func (q *Queue) Used(person, day string) time.Duration { return q.used[person][day] }

// Times are the learned times of an expert.
func (q *Queue) Times(expert string) Times { return q.times[expert] }

// Debt is the seconds of work that was sent to experts and had not fallen due at a time. The caller must not change it.
func (q *Queue) Debt() (debt map[string]float64, at time.Time) { return q.debt, q.debtAt }

// SetDebt takes over what is left of the debt at a later time. The journal has it with the next change.
func (q *Queue) SetDebt(debt map[string]float64, at time.Time) { q.debt, q.debtAt = debt, at }

// Held returns the item that a person has at a time; nil: none.
func (q *Queue) Held(person string, now time.Time) *Item {
	for _, i := range q.waiting {
		if i.Claim.holds(now) && i.Claim.Person == person {
			return i
		}
	}
	return nil
}

// newName is a name that nobody can guess.
func newName() string { return strings.ToLower(rand.Text()) }

// Put adds an item under a new id. An item with the key of an earlier one of the same caller is a retry: the earlier one is
// returned if it is the same, else ErrKey.
func (q *Queue) Put(i Item) (_ *Item, created bool, err error) {
	if before := q.items[q.keys[[2]string{i.From, i.Key}]]; before != nil {
		if !before.same(&i) {
			return nil, false, ErrKey
		}
		return before, false, nil
	}
	if len(q.waiting) >= q.Settings.Most {
		return nil, false, ErrFull
	}
	i.ID = newName()
	next, err := q.commit(change{item: i, at: i.Put, work: i.Expected})
	return next, err == nil, err
}

// Claim gives an item to a person until a time, and counts that time as used on a day. The person who has it already gets more time
// under the same token.
func (q *Queue) Claim(id, person, day string, now, until time.Time) (*Item, error) {
	i, err := q.Get(id)
	if err != nil {
		return nil, err
	}
	c, used := &Claim{Person: person, Token: newName(), Day: day, Since: now, Until: until}, until.Sub(now)
	switch s := i.State(now); {
	case s == StateAnswered || s == StateWithdrawn:
		return nil, ErrDone
	case s == StateClaimed && i.Claim.Person != person:
		return nil, ErrClaimed
	case s == StateClaimed:
		more := *i.Claim
		more.Until, used = until, until.Sub(more.Until)
		c = &more
	case q.Held(person, now) != nil:
		return nil, ErrHolding
	case i.Claim != nil && i.Claim.Person == person:
		c.Before = i.Claim.took(now)
	}
	next := *i
	next.Claim = c
	return q.commit(change{item: next, at: now, used: used})
}

// Answer takes the answer of a person under a claim. The same answer once more is a retry, and changes nothing.
func (q *Queue) Answer(id, token string, a Answer) (*Item, error) {
	i, err := q.underClaim(id, a.Person, token, a.Time)
	if errors.Is(err, ErrDone) && i.Answer != nil && i.Claim.is(a.Person, token) && i.Answer.Text == a.Text && equal(i.Answer.Confidence, a.Confidence) {
		return i, nil
	}
	if err != nil {
		return nil, err
	}
	a.Seconds = i.Claim.took(a.Time).Seconds()
	next := *i
	next.Answer = &a
	return q.end(next, a.Time, a.Seconds-i.Expected)
}

func equal(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// underClaim returns the item that a person has under a token.
func (q *Queue) underClaim(id, person, token string, now time.Time) (*Item, error) {
	i, err := q.Get(id)
	if err != nil {
		return nil, err
	}
	switch s := i.State(now); {
	case s == StateAnswered || s == StateWithdrawn:
		err = ErrDone
	case s == StateClaimed && !i.Claim.is(person, token):
		err = ErrClaimed
	case s == StateOpen:
		err = ErrLease
	}
	return i, err
}

// Back gives an item back. Once more under the same claim is a retry, and changes nothing.
func (q *Queue) Back(id, person, token string, now time.Time) (*Item, error) {
	i, err := q.underClaim(id, person, token, now)
	if errors.Is(err, ErrLease) && i.Claim.is(person, token) {
		return i, nil
	}
	if err != nil {
		return nil, err
	}
	return q.end(*i, now, 0)
}

// Withdraw takes an item out of the queue. A withdrawn item stays as it is.
func (q *Queue) Withdraw(id string, now time.Time) (*Item, error) {
	i, err := q.Get(id)
	switch {
	case err != nil:
		return nil, err
	case i.Answer != nil:
		return nil, ErrDone
	case i.Withdrawn != nil:
		return i, nil
	}
	next := *i
	next.Withdrawn = &now
	return q.end(next, now, -i.Expected)
}

// end makes a change with which the claim of an item ends: the time that it did not need is free again.
func (q *Queue) end(next Item, now time.Time, work float64) (*Item, error) {
	c, unused := next.Claim.end(now)
	next.Claim = c
	return q.commit(change{item: next, at: now, used: -unused, work: work})
}

// tidy forgets finished items that need not be kept, and time that was used more than five weeks ago.
func (q *Queue) tidy(now time.Time) {
	n := max(0, len(q.done)-q.Settings.KeepItems)
	for n < len(q.done) && now.Sub(*q.done[n].finished()) > q.Settings.Keep {
		n++
	}
	for _, i := range q.done[:n] {
		delete(q.items, i.ID)
		if key := [2]string{i.From, i.Key}; q.keys[key] == i.ID {
			delete(q.keys, key)
		}
	}
	q.done = slices.Delete(q.done, 0, n)
	oldest := now.AddDate(0, 0, -35).Format(time.DateOnly)
	for _, days := range q.used {
		maps.DeleteFunc(days, func(day string, _ time.Duration) bool { return day < oldest })
	}
}
