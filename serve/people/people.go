package people

import (
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

	"pipe/serve/people/queue"
)

// People has the items of a server and those who answer them. It is safe for concurrent use.
type People struct {
	log  *slog.Logger
	now  func() time.Time
	team atomic.Pointer[team]

	changes sync.Mutex // held by who changes items or the team, also while the disk works
	mu      sync.Mutex // held by who looks at what follows
	queue   *queue.Queue
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
	p := &People{log: o.Log, now: o.Now}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	folder := string(s.Folder)
	if o.InMemory {
		folder = ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue, err = queue.Open(folder, t.queue(), &p.mu); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	p.use(t)
	return p, nil
}

// use takes over a team, and warns of items that it does not answer.
func (p *People) use(t *team) {
	p.team.Store(t)
	p.queue.Settings, p.load = t.queue(), load{}
	left := 0
	for _, i := range p.queue.Waiting() {
		if t.able(i.Expert, i.Advice, i.Tags) == 0 {
			left++
		}
	}
	if left > 0 {
		p.log.Warn("nobody of the people answers for some of the items that wait; withdraw them, or let somebody answer", "items", left)
	}
}

// Reload takes over other settings. A claim that somebody has keeps its end. What cannot change while the server runs is refused by
// its name: then nothing changes.
func (p *People) Reload(s Settings) error {
	t, err := newTeam(s)
	if err != nil {
		return err
	}
	if was := p.team.Load().Folder; s.Folder != was {
		return fmt.Errorf("folder: is %q and was %q; a server with another folder must be started again", s.Folder, was)
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
	return p.queue.Close()
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

// change makes a change: others can look at the items meanwhile, but not change them.
func (p *People) change(do func(now time.Time) (*queue.Item, error)) (*queue.Item, error) {
	p.changes.Lock()
	defer p.changes.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := do(p.advance())
	if err == nil && i != nil {
		p.load = load{}
	}
	return i, p.refusal(err)
}

// changeBy is change for a person.
func (p *People) changeBy(name string, do func(o *person, now time.Time) (*queue.Item, error)) (*queue.Item, error) {
	return p.change(func(now time.Time) (*queue.Item, error) {
		o, err := p.team.Load().person(name)
		if err != nil {
			return nil, err
		}
		return do(o, now)
	})
}

// refusal makes an error of the queue one of this package.
func (p *People) refusal(err error) error {
	var mine *Error
	var of *queue.Refusal
	switch {
	case err == nil || errors.As(err, &mine):
		return err
	case !errors.As(err, &of):
		if !p.warned {
			p.warned = true
			p.log.Error("items of people cannot be written; start the server again when the disk works", "error", err.Error())
		}
		return refuse(http.StatusServiceUnavailable, "disk", "the queue of people cannot be written at present; nothing was changed that was not confirmed")
	case of == queue.ErrUnknown:
		return &Error{http.StatusNotFound, of.Code, of.Msg}
	case of == queue.ErrFull:
		return &Error{http.StatusTooManyRequests, of.Code, of.Msg}
	}
	return &Error{http.StatusConflict, of.Code, of.Msg}
}

// New is an item to put.
type New struct {
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice"`
	Tags     []string        `json:"tags"`
	Question json.RawMessage `json:"question"` // any JSON value; people see it
	Choices  []string        `json:"choices"`  // the answers that are allowed; none: any text
	From     string          `json:"-"`        // name of the caller's key
	Key      string          `json:"-"`        // by which a retry is told from a new item; "": every one is new
	Note     json.RawMessage `json:"-"`        // for the program that put it
}

// Put adds an item. created is false for a retry.
func (p *People) Put(n New) (_ *queue.Item, created bool, err error) {
	if err := p.team.Load().check(n); err != nil {
		return nil, false, err
	}
	question, err := json.Marshal(n.Question) // as the journal has it, so that a retry is the same after a restart
	if err != nil {
		return nil, false, err
	}
	i, err := p.change(func(now time.Time) (i *queue.Item, err error) {
		i, created, err = p.queue.Put(queue.Item{
			Expert: n.Expert, Advice: n.Advice, Tags: n.Tags, Question: question, Choices: n.Choices,
			From: n.From, Key: n.Key, Note: n.Note, Put: now, Expected: p.expected(n.Expert),
		})
		return i, err
	})
	return i, created, err
}

// check reports what an item must not be.
func (t *team) check(n New) error {
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
	if t.able(n.Expert, n.Advice, n.Tags) == 0 {
		return refuse(http.StatusUnprocessableEntity, "skills", "nobody answers for %s with the tags %q", pairName(n.Expert, n.Advice), n.Tags)
	}
	return nil
}

// fits reports whether a JSON value can be read again within a line of the journal: readers bound how deeply values are nested.
func fits(value json.RawMessage) bool {
	const around = 10 // more than the journal and a list of items put around it
	return json.Valid([]byte(strings.Repeat("[", around) + string(value) + strings.Repeat("]", around)))
}

func pairName(expert, advice string) string {
	if advice == "" {
		return expert
	}
	return expert + "/" + advice
}

// Get returns an item.
func (p *People) Get(id string) (*queue.Item, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.queue.Get(id)
	return i, p.refusal(err)
}

// Claim gives an item to a person, for as long as the lease, the person's hours and their limits allow. To one who has it, it gives
// more time.
func (p *People) Claim(id, name string) (*queue.Item, error) {
	return p.changeBy(name, func(o *person, now time.Time) (*queue.Item, error) {
		i, err := p.queue.Get(id)
		if err != nil {
			return nil, err
		}
		return p.claim(i, o, now)
	})
}

// ClaimNext gives a person the oldest item that waits, or the one that the person has. It is false if nothing waits.
func (p *People) ClaimNext(name string) (_ *queue.Item, found bool, err error) {
	i, err := p.changeBy(name, func(o *person, now time.Time) (*queue.Item, error) {
		next, all := p.queue.Held(o.Name, now), p.queue.Waiting()
		if at := slices.IndexFunc(all, func(i *queue.Item) bool { return i.State(now) == queue.StateOpen && o.mayAnswer(i) }); next == nil && at >= 0 {
			next = all[at]
		}
		if next == nil {
			return nil, nil
		}
		return p.claim(next, o, now)
	})
	return i, i != nil, err
}

func (p *People) claim(i *queue.Item, o *person, now time.Time) (*queue.Item, error) {
	if !o.mayAnswer(i) {
		return nil, refuse(http.StatusForbidden, "skills", "%s does not answer for %s with the tags %q", o.Name, pairName(i.Expert, i.Advice), i.Tags)
	}
	until, err := p.until(i, o, now)
	if err != nil {
		return nil, err
	}
	return p.queue.Claim(i.ID, o.Name, o.schedule.Day(now), now, until)
}

// until is when a claim ends. A claim counts as used time up to then, so that no hours are used twice.
func (p *People) until(i *queue.Item, o *person, now time.Time) (time.Time, error) {
	lease := p.team.Load().Experts[i.Expert].Lease
	if i.State(now) == queue.StateClaimed && i.Claim.Person == o.Name {
		left := o.schedule.Left(now, func(day string) time.Duration {
			used := p.queue.Used(o.Name, day)
			if day == i.Claim.Day { // the rest of the claim is counted already
				used -= i.Claim.Until.Sub(now)
			}
			return used
		})
		if more := now.Add(min(lease, left)); more.After(i.Claim.Until) {
			return more, nil
		}
		return i.Claim.Until, nil
	}
	left := o.schedule.Left(now, p.used(o))
	if need := min(seconds(p.expected(i.Expert)), lease); left < need {
		return time.Time{}, o.noTime(now, left, need)
	}
	return now.Add(min(lease, left)), nil
}

// noTime says why a person gets no item.
func (o *person) noTime(now time.Time, left, need time.Duration) error {
	if _, open := o.schedule.Open(now); open {
		return refuse(http.StatusConflict, "hours", "%s has %v left of the hours of the day, the week or the office, and an answer takes about %v", o.Name, left.Round(time.Second), need.Round(time.Second))
	}
	if next := o.schedule.Next(now); !next.IsZero() {
		return refuse(http.StatusConflict, "closed", "these are not the office hours of %s; the next ones begin at %s", o.Name, next.Format(time.RFC3339))
	}
	return refuse(http.StatusConflict, "closed", "%s has no office hours in the next days", o.Name)
}

func (p *People) used(o *person) func(day string) time.Duration {
	return func(day string) time.Duration { return p.queue.Used(o.Name, day) }
}

// Said is the answer of a person.
type Said struct {
	Text       string
	Confidence *float64 // from 0 to 1; nil: not said
}

// Answer takes the answer of a person under a claim.
func (p *People) Answer(id, name, token string, said Said) (*queue.Item, error) {
	return p.changeBy(name, func(o *person, now time.Time) (*queue.Item, error) {
		i, err := p.queue.Get(id)
		if err != nil {
			return nil, err
		}
		switch c, most := said.Confidence, p.team.Load().ItemBytes; {
		case strings.TrimSpace(said.Text) == "" || !utf8.ValidString(said.Text):
			return nil, invalid("answer: it must be a text that is not empty")
		case len(said.Text) > most:
			return nil, refuse(http.StatusRequestEntityTooLarge, "too_large", "the answer has %d bytes; at most %d are kept", len(said.Text), most)
		case len(i.Choices) > 0 && !slices.Contains(i.Choices, said.Text):
			return nil, invalid("answer: %.100q is not one of the choices", said.Text)
		case c != nil && (math.IsNaN(*c) || *c < 0 || *c > 1):
			return nil, invalid("confidence: is %g, not 0 to 1", *c)
		}
		return p.queue.Answer(id, token, queue.Answer{Text: said.Text, Confidence: said.Confidence, Person: o.Name, Time: now})
	})
}

// Back gives an item back, so that others can claim it.
func (p *People) Back(id, name, token string) (*queue.Item, error) {
	return p.changeBy(name, func(o *person, now time.Time) (*queue.Item, error) { return p.queue.Back(id, o.Name, token, now) })
}

// Withdraw takes an item out of the queue, for the caller who put it.
func (p *People) Withdraw(id string) (*queue.Item, error) {
	return p.change(func(now time.Time) (*queue.Item, error) { return p.queue.Withdraw(id, now) })
}

// Waiting returns the items that are not finished and that a person may answer, the oldest first; "": all of them.
func (p *People) Waiting(name string) (all []*queue.Item, err error) {
	var o *person
	if name != "" {
		if o, err = p.team.Load().person(name); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.queue.Waiting() {
		if o == nil || o.mayAnswer(i) {
			all = append(all, i)
		}
	}
	return all, nil
}

// Answers returns the answered items that are kept, the oldest answer first.
func (p *People) Answers() (all []*queue.Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.queue.Done() {
		if i.Answer != nil {
			all = append(all, i)
		}
	}
	return all
}
