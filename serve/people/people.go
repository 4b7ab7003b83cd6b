package people

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"pipe/serve/people/hours"
)

// People has the items of a server and those who answer them. It is safe for concurrent use.
type People struct {
	log  *slog.Logger
	now  func() time.Time
	team atomic.Pointer[team]

	changes sync.Mutex // held by who changes items or the team, also while the disk works
	mu      sync.Mutex // held by who looks at what follows
	queue   *journal
	load    load
	warned  bool // that the disk failed
}

// Options are what a server gives to its people besides the settings.
type Options struct {
	Log *slog.Logger     // nil: none
	Now func() time.Time // nil: the clock
	// InMemory leaves the folder alone, which another server may use: nothing is read or kept.
	InMemory bool
}

// Open opens the queue. The caller closes the people after the last request.
func Open(s Settings, o Options) (*People, error) {
	t, err := newTeam(s)
	if err != nil {
		return nil, err
	}
	p := &People{log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), now: o.Now}
	if p.now == nil {
		p.now = time.Now
	}
	folder := string(s.Folder)
	if o.InMemory {
		folder = ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue, err = openJournal(folder, &p.mu); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	if n := p.queue.cut; n > 0 {
		p.log.Warn("the last line of the journal of people was not whole, and is left out: a kill or a power cut ended it, or the disk damaged it", "bytes", n)
	}
	p.use(t)
	return p, nil
}

// use takes over a team, and warns of items that it does not answer.
func (p *People) use(t *team) {
	p.team.Store(t)
	p.load = load{}
	if left := slices.DeleteFunc(slices.Clone(p.queue.waiting), func(i *Item) bool { return t.able(&i.New) != 0 }); len(left) > 0 {
		p.log.Warn("nobody of the people answers for some of the items that wait; withdraw them, or let somebody answer", "items", len(left))
	}
}

// Reload takes over other settings. A claim that somebody has keeps its end. What cannot change while the server runs is refused by
// its name: then nothing changes.
func (p *People) Reload(s Settings) error {
	t, err := newTeam(s)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	switch was := p.team.Load().Folder; {
	case !s.Enabled():
		return errors.New("people: experts: there are none; a server without its people must be started again")
	case s.Folder != was:
		return fmt.Errorf("people: folder: is %q and was %q; a server with another folder must be started again", s.Folder, was)
	}
	p.changes.Lock()
	defer p.changes.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.use(t)
	return nil
}

// Close closes the queue.
func (p *People) Close() error {
	p.changes.Lock()
	defer p.changes.Unlock()
	return p.queue.close()
}

// Has reports whether an expert is people.
func (p *People) Has(expert string) bool { return p != nil && p.team.Load().has(expert) }

// OnChosen says what a caller of the gateway gets when an expert that is people was chosen.
func (p *People) OnChosen() OnChosen { return p.team.Load().OnChosen }

// Error is a refusal, as an HTTP status, one word, and a sentence.
type Error struct {
	Status    int
	Code, Msg string
}

func (e *Error) Error() string { return e.Msg }

func refuse(status int, code, format string, args ...any) error {
	return &Error{status, code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "invalid_request", format, args...)
}

func conflict(code, format string, args ...any) error {
	return refuse(http.StatusConflict, code, format, args...)
}

// The refusals of changes.
var (
	errUnknown = refuse(http.StatusNotFound, "not_found", "there is no such item; finished ones are kept for a while only")
	errFull    = refuse(http.StatusTooManyRequests, "full", "the queue is full")
	errKey     = conflict("key", "the same key was used for another item")
	errClaimed = conflict("claimed", "another person has the item")
	errHolding = conflict("holding", "this person has another item: answer it or give it back first")
	errDone    = conflict("done", "the item is answered or withdrawn already")
	errLease   = conflict("lease", "the claim has ended, and the item is open again: claim it again")
	errDisk    = refuse(http.StatusServiceUnavailable, "disk", "the queue of people cannot be written at present; nothing was changed that was not confirmed")
)

// errSame means that a request is a retry: nothing changes, and the item is confirmed as it is.
var errSame = errors.New("the item is so already")

// change makes a change: do returns an item as it will be. Others can look at the items meanwhile, but not change them.
func (p *People) change(do func(now time.Time) (Item, more, error)) (*Item, error) {
	p.changes.Lock()
	defer p.changes.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	now, t := p.now(), p.team.Load()
	i, m, err := do(now)
	switch {
	case errors.Is(err, errSame):
		return p.queue.items[i.ID], nil
	case err != nil:
		return nil, err
	}
	p.advance()
	next, err := p.queue.commit(i, m)
	if err != nil {
		if !p.warned {
			p.warned = true
			p.log.Error("items of people cannot be written; start the server again when the disk works", "error", err.Error())
		}
		return nil, errDisk
	}
	p.load = load{}
	p.queue.tidy(now, t.KeepItems, t.Keep)
	p.queue.shorten()
	return next, nil
}

// edit is change by a person for an item that there is: do gets a copy of it.
func (p *People) edit(name string, find func(o *person, now time.Time) *Item, do func(i *Item, o *person, now time.Time) (more, error)) (*Item, error) {
	return p.change(func(now time.Time) (next Item, m more, err error) {
		o, err := p.team.Load().person(name)
		if err != nil {
			return next, m, err
		}
		i := find(o, now)
		if i == nil {
			return next, m, errUnknown
		}
		next = *i
		m, err = do(&next, o, now)
		return next, m, err
	})
}

func (p *People) byID(id string) func(*person, time.Time) *Item {
	return func(*person, time.Time) *Item { return p.queue.items[id] }
}

// Put adds an item. The key of an earlier one of the same caller means a retry: created is false.
func (p *People) Put(n New) (_ *Item, created bool, err error) {
	t := p.team.Load()
	if err := t.check(&n); err != nil {
		return nil, false, err
	}
	if n.Question, err = json.Marshal(n.Question); err != nil { // as the journal has it, so that a retry is the same after a restart
		return nil, false, err
	}
	i, err := p.change(func(now time.Time) (Item, more, error) {
		q := p.queue
		if before := q.items[q.keys[[2]string{n.From, n.Key}]]; before != nil {
			if !before.same(&n) {
				return Item{}, more{}, errKey
			}
			return *before, more{}, errSame
		}
		if len(q.waiting) >= t.Queue {
			return Item{}, more{}, errFull
		}
		created = true
		expected := p.expected(n.Expert)
		return Item{ID: newName(), New: n, Put: now, Expected: expected}, more{work: expected}, nil
	})
	return i, created && err == nil, err
}

// newName is a name that nobody can guess.
func newName() string { return strings.ToLower(rand.Text()) }

// check reports what an item must not be.
func (t *team) check(n *New) error {
	size := len(n.Question) + len(n.Note) + len(n.Key) + len(n.Advice)
	for _, c := range n.Choices {
		size += len(c)
		if c == "" || !utf8.ValidString(c) {
			return invalid("choices has an empty answer, or one that is no text")
		}
	}
	switch {
	case !t.has(n.Expert):
		return invalid("expert: %.100q is no expert that is people", n.Expert)
	case len(n.Question) == 0 || !json.Valid(n.Question):
		return invalid("question: it must be a JSON value")
	case !fits(n.Question) || len(n.Note) > 0 && !fits(n.Note):
		return invalid("question: it is nested too deeply")
	case len(n.Key) > 256 || !utf8.ValidString(n.Key) || strings.ContainsFunc(n.Key, unicode.IsControl):
		return invalid("the idempotency key is longer than 256 bytes, has control characters, or is no text")
	case size > t.ItemBytes:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the item has %d bytes; at most %d are kept", size, t.ItemBytes)
	}
	if err := checkTags(n.Tags); err != nil {
		return invalid("%v", err)
	}
	if t.able(n) == 0 {
		return refuse(http.StatusUnprocessableEntity, "skills", "nobody answers for %s with the tags %q", n.pair(), n.Tags)
	}
	return nil
}

// fits reports whether a JSON value can be read again within a line of the journal: readers bound how deeply values are nested.
func fits(value json.RawMessage) bool {
	const around = 10 // more than the journal and a list of items put around it
	return json.Valid([]byte(strings.Repeat("[", around) + string(value) + strings.Repeat("]", around)))
}

// Get returns an item.
func (p *People) Get(id string) (*Item, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.queue.items[id]; i != nil {
		return i, nil
	}
	return nil, errUnknown
}

// Claim gives an item to a person, for as long as the lease, the person's hours and their limits allow. To one who has it, it gives
// more time.
func (p *People) Claim(id, name string) (*Item, error) { return p.edit(name, p.byID(id), p.claim) }

// ClaimNext gives a person the oldest item that waits, or the one that the person has. It is false if nothing waits.
func (p *People) ClaimNext(name string) (_ *Item, found bool, err error) {
	i, err := p.edit(name, func(o *person, now time.Time) *Item {
		if mine := p.held(name, now); mine != nil {
			return mine
		}
		return p.first(func(i *Item) bool { return i.State(now) == StateOpen && o.able(&i.New) })
	}, p.claim)
	if errors.Is(err, errUnknown) {
		err = nil
	}
	return i, i != nil, err
}

// first returns the oldest item that waits and is so; nil: none.
func (p *People) first(is func(i *Item) bool) *Item {
	if at := slices.IndexFunc(p.queue.waiting, is); at >= 0 {
		return p.queue.waiting[at]
	}
	return nil
}

// held returns the item that a person has; nil: none.
func (p *People) held(name string, now time.Time) *Item {
	return p.first(func(i *Item) bool { return i.Claim != nil && i.Claim.Person == name && i.State(now) == StateClaimed })
}

// claim lets a person have an item. A claim counts as used time up to its end, so that no hours are used twice.
func (p *People) claim(i *Item, o *person, now time.Time) (m more, err error) {
	was, lease := i.Claim, p.team.Load().Experts[i.Expert].Lease
	mine := i.State(now) == StateClaimed && was.Person == o.Name
	switch able := o.able(&i.New); {
	case !able && mine: // since a reload: the claim keeps its end
		return m, errSame
	case !able:
		return m, refuse(http.StatusForbidden, "skills", "%s does not answer for %s with the tags %q", o.Name, i.pair(), i.Tags)
	}
	c := Claim{Person: o.Name, Token: newName(), Day: o.schedule.Day(now), Since: now}
	switch {
	case i.finished() != nil:
		return m, errDone
	case !mine && i.State(now) == StateClaimed:
		return m, errClaimed
	case mine: // more time under the same token
		left := o.schedule.Left(now, func(day string) time.Duration {
			used := p.queue.used[o.Name][day]
			if day == was.Day { // the rest of the claim is counted already
				used -= was.Until.Sub(now)
			}
			return used
		})
		c = *was
		if c.Until = now.Add(min(lease, left)); !c.Until.After(was.Until) {
			return m, errSame
		}
		i.Claim = &c
		return more{used: c.Until.Sub(was.Until)}, nil
	case p.held(o.Name, now) != nil:
		return m, errHolding
	case was != nil && was.Person == o.Name:
		c.Before = was.took(now)
	}
	left := o.schedule.Left(now, p.used(o))
	if need := min(p.expected(i.Expert), lease); left < need {
		return m, o.noTime(now, left, need)
	}
	c.Until, i.Claim = now.Add(min(lease, left)), &c
	return more{used: min(lease, left)}, nil
}

// noTime says why a person gets no item.
func (o *person) noTime(now time.Time, left, need time.Duration) error {
	if _, open := o.schedule.Open(now); open {
		return conflict("hours", "%s has %v left of the hours of the day, the week or the office, and an answer takes about %v", o.Name, left.Round(time.Second), need.Round(time.Second))
	}
	if next := o.schedule.Next(now); !next.IsZero() {
		return conflict("closed", "these are not the office hours of %s; the next ones begin at %s", o.Name, next.Format(time.RFC3339))
	}
	return conflict("closed", "%s has no office hours in the next days", o.Name)
}

func (p *People) used(o *person) hours.Used {
	return func(day string) time.Duration { return p.queue.used[o.Name][day] }
}

// under reports whether a person has or had an item under a token, and why not now.
func (i *Item) under(name, token string, now time.Time) (mine bool, err error) {
	mine = i.Claim != nil && i.Claim.Person == name && i.Claim.Token == token
	switch s := i.State(now); {
	case i.finished() != nil:
		err = errDone
	case s == StateClaimed && !mine:
		err = errClaimed
	case s == StateOpen:
		err = errLease
	}
	return mine, err
}

// Answer takes the answer of a person under a claim. The same answer once more is a retry.
func (p *People) Answer(id, name, token string, said Said) (*Item, error) {
	return p.edit(name, p.byID(id), func(i *Item, _ *person, now time.Time) (m more, err error) {
		if err := p.team.Load().checkSaid(i, said); err != nil {
			return m, err
		}
		switch mine, err := i.under(name, token, now); {
		case mine && i.Answer != nil && i.Answer.Said.same(said):
			return m, errSame
		case err != nil:
			return m, err
		}
		took := i.Claim.took(now)
		i.Answer = &Answer{said, name, now, took.Seconds()}
		return more{used: -i.end(now), work: took - i.Expected}, nil
	})
}

// checkSaid reports what an answer must not be.
func (t *team) checkSaid(i *Item, said Said) error {
	switch c := said.Confidence; {
	case strings.TrimSpace(said.Text) == "" || !utf8.ValidString(said.Text):
		return invalid("answer: it must be a text that is not empty")
	case len(said.Text) > t.ItemBytes:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the answer has %d bytes; at most %d are kept", len(said.Text), t.ItemBytes)
	case len(i.Choices) > 0 && !slices.Contains(i.Choices, said.Text):
		return invalid("answer: %.100q is not one of the choices", said.Text)
	case c != nil && (math.IsNaN(*c) || *c < 0 || *c > 1):
		return invalid("confidence: is %g, not 0 to 1", *c)
	}
	return nil
}

// Back gives an item back, so that others can claim it. Once more under the same claim is a retry.
func (p *People) Back(id, name, token string) (*Item, error) {
	return p.edit(name, p.byID(id), func(i *Item, _ *person, now time.Time) (m more, err error) {
		mine, err := i.under(name, token, now)
		if mine && errors.Is(err, errLease) {
			err = errSame
		}
		if err == nil {
			m.used = -i.end(now)
		}
		return m, err
	})
}

// Withdraw takes an item out of the queue, for the caller who put it. A withdrawn item stays as it is.
func (p *People) Withdraw(id string) (*Item, error) {
	return p.change(func(now time.Time) (next Item, m more, err error) {
		i := p.queue.items[id]
		if i == nil {
			return next, m, errUnknown
		}
		switch next = *i; i.State(now) {
		case StateAnswered:
			err = errDone
		case StateWithdrawn:
			err = errSame
		}
		next.Withdrawn = &now
		return next, more{used: -next.end(now), work: -i.Expected}, err
	})
}

// Waiting returns the items that are not finished and that a person may answer, the oldest first; "": all of them.
func (p *People) Waiting(name string) ([]*Item, error) {
	o := &person{}
	if name != "" {
		var err error
		if o, err = p.team.Load().person(name); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.queue.waiting), func(i *Item) bool { return name != "" && !o.able(&i.New) }), nil
}

// Answers returns the answered items that are kept, the oldest answer first.
func (p *People) Answers() []*Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.queue.done), func(i *Item) bool { return i.Answer == nil })
}
