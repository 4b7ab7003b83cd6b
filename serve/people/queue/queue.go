package queue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"pipe/internal/filelock"
)

// Settings bound a queue.
type Settings struct {
	Most      int           // items that are not finished
	Keep      time.Duration // how long finished items are kept
	KeepItems int           // most finished items that are kept; the oldest go first
}

// Queue has the items. It is for one goroutine at a time.
type Queue struct {
	settings Settings
	state
	file    *os.File       // the journal, open for appending; nil: in memory only
	lock    *filelock.Lock // of the folder
	path    string
	size    int64 // of the journal
	least   int64 // its size after it was last replaced
	failure error // of the disk: what the journal has is not known, so nothing changes any more
}

// state is what the journal says.
type state struct {
	items   map[string]*Item
	waiting []*Item                             // not finished, in the order in which they were put
	done    []*Item                             // finished, in the order of their end
	keys    map[string]*Item                    // by caller and key
	used    map[string]map[string]time.Duration // by person and day
	times   map[string]Times                    // by expert
	debt    map[string]time.Duration            // by expert: work that was sent and has not fallen due
	debtAt  time.Time                           // when that was so
}

// Times says how long the answers of an expert took. Later answers weigh more.
type Times struct {
	Answers float64 `json:"answers"` // sum of the weights
	Seconds float64 `json:"seconds"` // weighted sum
}

// forget is the weight that an answer loses with each later one: the last hundred or so count.
const forget = 0.99

// The errors about items. An error of the disk is another one.
var (
	ErrUnknown = errors.New("there is no such item; finished ones are kept for a while only")
	ErrFull    = errors.New("the queue is full")
	ErrKey     = errors.New("the same key was used for another item")
	ErrClaimed = errors.New("another person has the item")
	ErrHolding = errors.New("this person has another item: answer it or give it back first")
	ErrDone    = errors.New("the item is answered or withdrawn already")
	ErrLease   = errors.New("the claim has ended, and the item is open again: claim it again")
)

func newState() state {
	return state{
		items: map[string]*Item{}, keys: map[string]*Item{}, used: map[string]map[string]time.Duration{},
		times: map[string]Times{}, debt: map[string]time.Duration{},
	}
}

// Get returns a copy of an item.
func (q *Queue) Get(id string) (Item, error) {
	i := q.items[id]
	if i == nil {
		return Item{}, ErrUnknown
	}
	return i.copy(), nil
}

// copy shares nothing that changes.
func (i *Item) copy() Item {
	out := *i
	if i.Claim != nil {
		c := *i.Claim
		out.Claim = &c
	}
	return out
}

// Waiting returns the items that are not finished, the oldest first. The caller must not change them.
func (q *Queue) Waiting() []*Item { return q.waiting }

// Done returns the finished items that are kept, the oldest first. The caller must not change them.
func (q *Queue) Done() []*Item { return q.done }

// Used is the time that a person has used of a day. A claim counts as the whole time that it can last.
func (q *Queue) Used(person, day string) time.Duration { return q.used[person][day] }

// Times are the learned times of an expert.
func (q *Queue) Times(expert string) Times { return q.times[expert] }

// Debt is the work that was sent to experts and had not fallen due at a time.
func (q *Queue) Debt() (debt map[string]time.Duration, at time.Time) { return q.debt, q.debtAt }

// SetDebt takes over what is left of the debt at a later time. The journal has it with the next change.
func (q *Queue) SetDebt(debt map[string]time.Duration, at time.Time) { q.debt, q.debtAt = debt, at }

// debtWith is the debt with more work of an expert.
func (q *Queue) debtWith(expert string, more time.Duration) map[string]time.Duration {
	debt := maps.Clone(q.debt)
	debt[expert] = max(0, debt[expert]+more)
	return debt
}

// Put adds an item under a new id. An item with the key of an earlier one of the same caller is a retry: the earlier one is
// returned if it is the same, else ErrKey.
func (q *Queue) Put(i Item) (_ Item, created bool, err error) {
	if before := q.keys[keyOf(&i)]; i.Key != "" && before != nil {
		if !before.same(&i) {
			return Item{}, false, ErrKey
		}
		return before.copy(), false, nil
	}
	if len(q.waiting) >= q.settings.Most {
		return Item{}, false, ErrFull
	}
	i.ID, i.Claim, i.Answer, i.Withdrawn = newName(), nil, nil, nil
	if err := q.commit(&record{Op: opPut, At: i.Put, Item: &i, Debt: q.debtWith(i.Expert, i.Expected)}); err != nil {
		return Item{}, false, err
	}
	return i.copy(), true, nil
}

// keyOf joins a caller and its key.
func keyOf(i *Item) string { return i.From + "\x00" + i.Key }

// same reports whether two items ask the same.
func (i *Item) same(o *Item) bool {
	return i.Expert == o.Expert && i.Advice == o.Advice && string(i.Question) == string(o.Question) &&
		slices.Equal(i.Tags, o.Tags) && slices.Equal(i.Choices, o.Choices)
}

// Claim gives an item to a person until a time, and counts that time as used on a day. The person who has it already gets more time
// under the same token.
func (q *Queue) Claim(id, person, day string, now, until time.Time) (Item, error) {
	i := q.items[id]
	if i == nil {
		return Item{}, ErrUnknown
	}
	c := &Claim{Person: person, Token: newName(), Day: day, Since: now, Until: until}
	switch s := i.State(now); {
	case s == StateAnswered || s == StateWithdrawn:
		return Item{}, ErrDone
	case s == StateClaimed && i.Claim.Person != person:
		return Item{}, ErrClaimed
	case s == StateClaimed:
		c.Token, c.Since, c.Day, c.Before = i.Claim.Token, i.Claim.Since, i.Claim.Day, i.Claim.Before
	case q.Held(person, now) != nil:
		return Item{}, ErrHolding
	case i.Claim != nil && i.Claim.Person == person:
		c.Before = i.Claim.Took(now)
	}
	if err := q.commit(&record{Op: opClaim, At: now, ID: id, Claim: c}); err != nil {
		return Item{}, err
	}
	return i.copy(), nil
}

// Held returns the item that a person has at a time; nil: none. The caller must not change it.
func (q *Queue) Held(person string, now time.Time) *Item {
	for _, i := range q.waiting {
		if i.Claim.holds(now) && i.Claim.Person == person {
			return i
		}
	}
	return nil
}

// Answer takes the answer of a person under a claim. The same answer once more is a retry, and changes nothing.
func (q *Queue) Answer(id, token string, a Answer) (Item, error) {
	i, err := q.underClaim(id, a.Person, token, a.Time)
	if errors.Is(err, ErrDone) && i.Answer != nil && i.Claim.is(a.Person, token) && i.Answer.Text == a.Text && equal(i.Answer.Confidence, a.Confidence) {
		return i.copy(), nil
	}
	if err != nil {
		return Item{}, err
	}
	a.Took = i.Claim.Took(a.Time)
	if err := q.commit(&record{Op: opAnswer, At: a.Time, ID: id, Answer: &a, Debt: q.debtWith(i.Expert, a.Took-i.Expected)}); err != nil {
		return Item{}, err
	}
	return i.copy(), nil
}

func equal(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

func (c *Claim) is(person, token string) bool {
	return c != nil && c.Person == person && c.Token == token
}

// underClaim returns the item that a person has under a token.
func (q *Queue) underClaim(id, person, token string, now time.Time) (*Item, error) {
	i := q.items[id]
	if i == nil {
		return nil, ErrUnknown
	}
	switch s := i.State(now); {
	case s == StateAnswered || s == StateWithdrawn:
		return i, ErrDone
	case s == StateClaimed && !i.Claim.is(person, token):
		return i, ErrClaimed
	case s == StateOpen:
		return i, ErrLease
	}
	return i, nil
}

// Back gives an item back. Once more under the same claim is a retry, and changes nothing.
func (q *Queue) Back(id, person, token string, now time.Time) (Item, error) {
	i, err := q.underClaim(id, person, token, now)
	if errors.Is(err, ErrLease) && i.Claim.is(person, token) {
		return i.copy(), nil
	}
	if err != nil {
		return Item{}, err
	}
	if err := q.commit(&record{Op: opBack, At: now, ID: id}); err != nil {
		return Item{}, err
	}
	return i.copy(), nil
}

// Withdraw takes an item out of the queue. A withdrawn item stays as it is.
func (q *Queue) Withdraw(id string, now time.Time) (Item, error) {
	i := q.items[id]
	switch {
	case i == nil:
		return Item{}, ErrUnknown
	case i.Answer != nil:
		return Item{}, ErrDone
	case i.Withdrawn != nil:
		return i.copy(), nil
	}
	if err := q.commit(&record{Op: opWithdraw, At: now, ID: id, Debt: q.debtWith(i.Expert, -i.Expected)}); err != nil {
		return Item{}, err
	}
	return i.copy(), nil
}

// apply makes a change that was checked. It is the same when the journal is read.
func (s *state) apply(r *record) error {
	if r.Debt != nil {
		s.debt, s.debtAt = maps.Clone(r.Debt), r.DebtAt
	}
	switch r.Op {
	case opState:
		return s.begin(r)
	case opPut, opItem:
		return s.add(r.Item)
	}
	i := s.items[r.ID]
	if i == nil {
		return fmt.Errorf("%s of an item that is not there", r.Op)
	}
	if _, done := i.Finished(); done {
		return fmt.Errorf("%s of an item that is finished", r.Op)
	}
	switch {
	case r.Op == opClaim && r.Claim != nil:
		s.claim(i, *r.Claim)
	case r.Op == opAnswer && r.Answer != nil && i.Claim != nil:
		s.endClaim(i, r.At)
		i.Answer = r.Answer
		s.learn(i)
		s.finish(i)
	case r.Op == opBack:
		s.endClaim(i, r.At)
	case r.Op == opWithdraw:
		s.endClaim(i, r.At)
		i.Withdrawn = &r.At
		s.finish(i)
	default:
		return fmt.Errorf("the operation %q is not complete", r.Op)
	}
	return nil
}

// begin takes over the totals of the changes before the journal.
func (s *state) begin(r *record) error {
	for person, days := range r.Used {
		s.used[person] = maps.Clone(days)
	}
	if r.Times != nil {
		s.times = maps.Clone(r.Times)
	}
	return nil
}

func (s *state) add(i *Item) error {
	if i == nil || i.ID == "" || s.items[i.ID] != nil {
		return errors.New("an item without an id of its own")
	}
	s.items[i.ID] = i
	if i.Key != "" {
		s.keys[keyOf(i)] = i
	}
	if _, done := i.Finished(); done {
		s.done = append(s.done, i)
	} else {
		s.waiting = append(s.waiting, i)
	}
	return nil
}

// claim counts the time of a claim, or the time that it has more than before.
func (s *state) claim(i *Item, c Claim) {
	from := c.Since
	if b := i.Claim; b.is(c.Person, c.Token) {
		from = b.Until
	}
	s.use(c.Person, c.Day, c.Until.Sub(from))
	i.Claim = &c
}

func (s *state) use(person, day string, d time.Duration) {
	if s.used[person] == nil {
		s.used[person] = map[string]time.Duration{}
	}
	s.used[person][day] += d
}

// endClaim gives back the time that a claim did not need.
func (s *state) endClaim(i *Item, at time.Time) {
	c := i.Claim
	if c == nil || c.Ended {
		return
	}
	c.Ended = true
	if at.Before(c.Since) { // clocks were set back
		at = c.Since
	}
	if at.Before(c.Until) {
		s.use(c.Person, c.Day, -c.Until.Sub(at))
		c.Until = at
	}
}

// learn takes over the time of an answer.
func (s *state) learn(i *Item) {
	t := s.times[i.Expert]
	s.times[i.Expert] = Times{forget*t.Answers + 1, forget*t.Seconds + i.Answer.Took.Seconds()}
}

func (s *state) finish(i *Item) {
	s.waiting = slices.DeleteFunc(s.waiting, func(o *Item) bool { return o == i })
	s.done = append(s.done, i)
}

// Tidy forgets finished items that need not be kept, and time that was used more than five weeks ago.
func (q *Queue) Tidy(now time.Time) {
	n := max(0, len(q.done)-q.settings.KeepItems)
	for n < len(q.done) {
		at, _ := q.done[n].Finished()
		if now.Sub(at) <= q.settings.Keep {
			break
		}
		n++
	}
	for _, i := range q.done[:n] {
		delete(q.items, i.ID)
		if q.keys[keyOf(i)] == i {
			delete(q.keys, keyOf(i))
		}
	}
	q.done = slices.Delete(q.done, 0, n)
	oldest := now.AddDate(0, 0, -35).Format(time.DateOnly)
	for _, days := range q.used {
		maps.DeleteFunc(days, func(day string, _ time.Duration) bool { return cmp.Less(day, oldest) })
	}
}
