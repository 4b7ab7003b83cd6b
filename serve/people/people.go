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
	"time"
	"unicode"
	"unicode/utf8"

	"pipe/serve/people/hours"
	"pipe/serve/people/queue"
)

// People has the items of a server and those who answer them. It is safe for concurrent use.
type People struct {
	settings Settings
	log      *slog.Logger
	now      func() time.Time
	list     []person
	experts  map[string]Expert

	mu      sync.Mutex
	queue   *queue.Queue
	changes int
	load    load // of one number of changes
	warned  bool // that the disk failed
}

// person is a person with the schedule.
type person struct {
	Person
	schedule *hours.Schedule
	experts  []string
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
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &People{settings: s, log: o.Log, now: o.Now, experts: map[string]Expert{}}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	for name, e := range s.Experts {
		p.experts[name] = e.withDefaults()
	}
	for _, one := range s.List {
		schedule, err := one.Schedule()
		if err != nil {
			return nil, err
		}
		who := person{Person: one, schedule: schedule}
		for _, a := range one.Answers {
			if e, _, _ := strings.Cut(a, "/"); !slices.Contains(who.experts, e) {
				who.experts = append(who.experts, e)
			}
		}
		p.list = append(p.list, who)
	}
	var err error
	folder := string(s.Folder)
	if o.InMemory {
		folder = ""
	}
	if p.queue, err = queue.Open(folder, queue.Settings{Most: s.Queue, Keep: s.Keep, KeepItems: s.KeepItems}); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	return p, nil
}

// Close closes the queue.
func (p *People) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Close()
}

// Has reports whether an expert is people.
func (p *People) Has(expert string) bool {
	if p == nil {
		return false
	}
	_, ok := p.experts[expert]
	return ok
}

// OnChosen says what a caller of the gateway gets when an expert that is people was chosen.
func (p *People) OnChosen() OnChosen { return p.settings.OnChosen }

// Error is a refusal, as an HTTP status, one word, and a sentence.
type Error struct {
	Status    int
	Code, Msg string
}

func (e *Error) Error() string { return e.Msg }

func refuse(status int, code, format string, args ...any) *Error {
	return &Error{status, code, fmt.Sprintf(format, args...)}
}

// refusals are the errors of the queue as statuses.
var refusals = []struct {
	err    error
	status int
	code   string
}{
	{queue.ErrUnknown, http.StatusNotFound, "not_found"},
	{queue.ErrFull, http.StatusTooManyRequests, "full"},
	{queue.ErrKey, http.StatusConflict, "key"},
	{queue.ErrClaimed, http.StatusConflict, "claimed"},
	{queue.ErrHolding, http.StatusConflict, "holding"},
	{queue.ErrDone, http.StatusConflict, "done"},
	{queue.ErrLease, http.StatusConflict, "lease"},
}

// changed ends a change: it counts it, and makes an error of the queue a refusal.
func (p *People) changed(err error) error {
	p.changes++
	if err == nil {
		return nil
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return &Error{r.status, r.code, err.Error()}
		}
	}
	if !p.warned {
		p.warned = true
		p.log.Error("items of people cannot be written; start the server again when the disk works", "error", err.Error())
	}
	return &Error{http.StatusServiceUnavailable, "disk", "the queue of people cannot be written at present; nothing was changed that was not confirmed"}
}

// New is an item to put.
type New struct {
	Expert, Advice string
	Tags           []string
	Question       json.RawMessage // any JSON value; people see it
	Choices        []string        // the answers that are allowed; none: any text
	From           string          // name of the caller's key
	Key            string          // by which a retry is told from a new item; "": every one is new
	Note           json.RawMessage // for the program that put it
}

// Put adds an item. created is false for a retry.
func (p *People) Put(n New) (_ queue.Item, created bool, err error) {
	if err := p.check(n); err != nil {
		return queue.Item{}, false, err
	}
	question, err := json.Marshal(n.Question) // as the journal has it, so that a retry is the same after a restart
	if err != nil {
		return queue.Item{}, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, created, err := p.queue.Put(queue.Item{
		Expert: n.Expert, Advice: n.Advice, Tags: n.Tags, Question: question, Choices: n.Choices,
		From: n.From, Key: n.Key, Note: n.Note, Put: p.advance(), Expected: p.expected(n.Expert),
	})
	return i, created, p.changed(err)
}

// check reports what an item must not be.
func (p *People) check(n New) error {
	bad := func(format string, args ...any) error {
		return refuse(http.StatusBadRequest, "invalid_request", format, args...)
	}
	size := len(n.Question) + len(n.Note) + len(n.Key) + len(n.Advice)
	for _, c := range n.Choices {
		size += len(c)
		if c == "" || !utf8.ValidString(c) {
			return bad("choices has an empty answer, or one that is no text")
		}
	}
	switch {
	case !p.Has(n.Expert):
		return bad("expert: %.100q is no expert that is people", n.Expert)
	case len(n.Question) == 0 || !json.Valid(n.Question):
		return bad("question: it must be a JSON value")
	case !fits(n.Question) || len(n.Note) > 0 && !fits(n.Note):
		return bad("question: it is nested too deeply")
	case len(n.Key) > 256 || !utf8.ValidString(n.Key) || strings.ContainsFunc(n.Key, unicode.IsControl):
		return bad("the idempotency key is longer than 256 bytes, has control characters, or is no text")
	case size > p.settings.ItemBytes:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the item has %d bytes; at most %d are kept", size, p.settings.ItemBytes)
	}
	if err := checkTags(n.Tags); err != nil {
		return bad("%v", err)
	}
	if p.able(n.Expert, n.Advice, n.Tags) == 0 {
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

// able is the set of people, one bit each, who may answer an item.
func (p *People) able(expert, advice string, tags []string) (set uint64) {
	for i := range p.list {
		if p.list[i].able(expert, advice, tags) {
			set |= 1 << i
		}
	}
	return set
}

func (o *person) able(expert, advice string, tags []string) bool {
	if !slices.Contains(o.Answers, expert) && (advice == "" || !slices.Contains(o.Answers, expert+"/"+advice)) {
		return false
	}
	return !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(o.Tags, t) })
}

// person returns a person by name.
func (p *People) person(name string) (*person, error) {
	i := slices.IndexFunc(p.list, func(o person) bool { return o.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusForbidden, "nobody", "%.100q is not one of the people of this server", name)
	}
	return &p.list[i], nil
}

// Get returns an item.
func (p *People) Get(id string) (queue.Item, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.queue.Get(id)
	if err != nil {
		return i, &Error{http.StatusNotFound, "not_found", err.Error()}
	}
	return i, nil
}

// Claim gives an item to a person, for as long as the lease, the person's hours and their limits allow. To one who has it, it gives
// more time.
func (p *People) Claim(id, name string) (queue.Item, error) {
	o, err := p.person(name)
	if err != nil {
		return queue.Item{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claim(id, o)
}

func (p *People) claim(id string, o *person) (queue.Item, error) {
	now := p.advance()
	i, err := p.queue.Get(id)
	if err != nil {
		return i, p.changed(err)
	}
	if !o.able(i.Expert, i.Advice, i.Tags) {
		return queue.Item{}, refuse(http.StatusForbidden, "skills", "%s does not answer for %s with the tags %q", o.Name, pairName(i.Expert, i.Advice), i.Tags)
	}
	until, err := p.until(&i, o, now)
	if err != nil {
		return queue.Item{}, err
	}
	i, err = p.queue.Claim(id, o.Name, o.schedule.Day(now), now, until)
	return i, p.changed(err)
}

// until is when a claim ends. A claim counts as used time up to then, so that no hours are used twice.
func (p *People) until(i *queue.Item, o *person, now time.Time) (time.Time, error) {
	lease := p.experts[i.Expert].Lease
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
	if need := min(p.expected(i.Expert), lease); left < need {
		return time.Time{}, p.noTime(o, now, left, need)
	}
	return now.Add(min(lease, left)), nil
}

// noTime says why a person gets no item.
func (p *People) noTime(o *person, now time.Time, left, need time.Duration) error {
	if _, open := o.schedule.Open(now); !open {
		if next := o.schedule.Next(now); !next.IsZero() {
			return refuse(http.StatusConflict, "closed", "these are not the office hours of %s; the next ones begin at %s", o.Name, next.Format(time.RFC3339))
		}
		return refuse(http.StatusConflict, "closed", "%s has no office hours in the next days", o.Name)
	}
	return refuse(http.StatusConflict, "hours", "%s has %v left of the hours of the day, the week or the office, and an answer takes about %v", o.Name, left.Round(time.Second), need.Round(time.Second))
}

func (p *People) used(o *person) hours.Used {
	return func(day string) time.Duration { return p.queue.Used(o.Name, day) }
}

// ClaimNext gives a person the oldest item that waits, or the one that the person has. It is false if nothing waits.
func (p *People) ClaimNext(name string) (_ queue.Item, found bool, err error) {
	o, err := p.person(name)
	if err != nil {
		return queue.Item{}, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next, now := p.queue.Held(o.Name, p.now()), p.now()
	for _, i := range p.queue.Waiting() {
		if next == nil && i.State(now) == queue.StateOpen && o.able(i.Expert, i.Advice, i.Tags) {
			next = i
		}
	}
	if next == nil {
		return queue.Item{}, false, nil
	}
	i, err := p.claim(next.ID, o)
	return i, err == nil, err
}

// Said is the answer of a person.
type Said struct {
	Text       string
	Confidence *float64 // from 0 to 1; nil: not said
}

// Answer takes the answer of a person under a claim.
func (p *People) Answer(id, name, token string, said Said) (queue.Item, error) {
	o, err := p.person(name)
	if err != nil {
		return queue.Item{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.advance()
	i, err := p.queue.Get(id)
	if err != nil {
		return i, p.changed(err)
	}
	if err := p.checkSaid(&i, said); err != nil {
		return queue.Item{}, err
	}
	i, err = p.queue.Answer(id, token, queue.Answer{Text: said.Text, Confidence: said.Confidence, Person: o.Name, Time: now})
	return i, p.changed(err)
}

// checkSaid reports what an answer must not be.
func (p *People) checkSaid(i *queue.Item, said Said) error {
	bad := func(format string, args ...any) error {
		return refuse(http.StatusBadRequest, "invalid_request", format, args...)
	}
	switch c := said.Confidence; {
	case strings.TrimSpace(said.Text) == "" || !utf8.ValidString(said.Text):
		return bad("answer: it must be a text that is not empty")
	case len(said.Text) > p.settings.ItemBytes:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the answer has %d bytes; at most %d are kept", len(said.Text), p.settings.ItemBytes)
	case len(i.Choices) > 0 && !slices.Contains(i.Choices, said.Text):
		return bad("answer: %.100q is not one of the choices", said.Text)
	case c != nil && (math.IsNaN(*c) || *c < 0 || *c > 1):
		return bad("confidence: is %g, not 0 to 1", *c)
	}
	return nil
}

// Back gives an item back, so that others can claim it.
func (p *People) Back(id, name, token string) (queue.Item, error) {
	o, err := p.person(name)
	if err != nil {
		return queue.Item{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.queue.Back(id, o.Name, token, p.advance())
	return i, p.changed(err)
}

// Withdraw takes an item out of the queue, for the caller who put it.
func (p *People) Withdraw(id string) (queue.Item, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.queue.Withdraw(id, p.advance())
	return i, p.changed(err)
}

// Waiting returns the items that are not finished and that a person may answer, the oldest first; "": all of them.
func (p *People) Waiting(name string) (all []queue.Item, err error) {
	var o *person
	if name != "" {
		if o, err = p.person(name); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.queue.Waiting() {
		if o == nil || o.able(i.Expert, i.Advice, i.Tags) {
			one, err := p.queue.Get(i.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// Answers returns the answered items that are kept, the oldest answer first.
func (p *People) Answers() (all []queue.Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.queue.Done() {
		if i.Answer != nil {
			all = append(all, *i)
		}
	}
	return all
}
